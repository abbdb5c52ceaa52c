/** A shop of several instances on one Redis. `README.md` beside this file says what it shows. */
import {
  BadRequestException,
  Body,
  Controller,
  Get,
  Global,
  Headers,
  HttpCode,
  Injectable,
  Module,
  Post,
  type OnApplicationShutdown,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Cron, ScheduleModule } from '@nestjs/schedule'
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus'
import {
  HoldfastHealthIndicator,
  HoldfastModule,
  InjectLocks,
  LeaderOnly,
  Locked,
  OncePerTick,
} from '@holdfast/nestjs'
import type { Locks } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'

/** It is global and imported before HoldfastModule, so Nest ends it after the locks. */
@Global()
@Module({
  providers: [
    {
      provide: Redis,
      useFactory: () => new Redis(process.env['REDIS_URL'] ?? 'redis://localhost'),
    },
  ],
  exports: [Redis],
})
class RedisModule implements OnApplicationShutdown {
  constructor(private readonly redis: Redis) {}

  async onApplicationShutdown(): Promise<void> {
    await this.redis.quit()
  }
}

interface Payment {
  readonly amount: number
}

interface Outcome extends Payment {
  readonly charged: string
}

/** What the shop does with the card of a customer: here it writes a list, and takes its time. */
@Injectable()
class Bank {
  constructor(private readonly redis: Redis) {}

  async charge(key: string, { amount }: Payment, signal: AbortSignal): Promise<Outcome> {
    await sleep(Number(process.env['CHARGE_MS'] ?? 20), undefined, { signal })
    await this.redis.rpush('charges', key)
    return { charged: key, amount }
  }
}

@Controller('payments')
class Payments {
  constructor(
    private readonly redis: Redis,
    private readonly bank: Bank,
    @InjectLocks() private readonly locks: Locks,
  ) {}

  /**
   * The provider calls back more than once, and two instances may get it at the same time. The lock
   * lets one of them work; the stored outcome answers the others.
   */
  @Post('callback')
  @HttpCode(200)
  @Locked((key: string) => `payment:${key}`, { waitMs: 10_000 })
  async callback(
    @Headers('idempotency-key') key: string,
    @Body() payment: Payment,
  ): Promise<Outcome> {
    if (!key) throw new BadRequestException('The header Idempotency-Key is missing.')
    const stored = await this.redis.get(`outcome:${key}`)
    if (stored !== null) return JSON.parse(stored) as Outcome
    const lease = this.locks.assertHeld(`payment:${key}`)
    const outcome = await this.bank.charge(key, payment, lease.signal)
    // The bank charged, so the outcome is stored also by a holder that lost its lock meanwhile.
    await this.redis.set(`outcome:${key}`, JSON.stringify(outcome), 'EX', 30 * 86_400)
    return outcome
  }
}

@Injectable()
class Reports {
  constructor(private readonly redis: Redis) {}

  /** Cron fires on every instance, and one of them writes the report. */
  @Cron(process.env['REPORT_CRON'] ?? '0 3 * * *')
  @OncePerTick({ atLeastMs: 60_000 })
  async write(): Promise<void> {
    await this.redis.rpush('reports', new Date().toISOString())
  }
}

@Controller('leader')
class Leader {
  @Get()
  @LeaderOnly('shop', { otherwise: () => ({ leads: false }) })
  async leads(): Promise<{ readonly leads: boolean }> {
    return { leads: true }
  }
}

@Controller('health')
class Health {
  constructor(
    private readonly health: HealthCheckService,
    private readonly locks: HoldfastHealthIndicator,
  ) {}

  @Get()
  @HealthCheck()
  check() {
    return this.health.check([() => this.locks.pingCheck('locks', { timeout: 1_000 })])
  }
}

const locks = HoldfastModule.forRootAsync({
  inject: [Redis],
  useFactory: (client: Redis) => ({ store: redisStore({ client }), namespace: 'shop' }),
})

@Module({
  imports: [RedisModule, locks, ScheduleModule.forRoot(), TerminusModule],
  controllers: [Payments, Leader, Health],
  providers: [Bank, Reports],
})
class ShopModule {}

const app = await NestFactory.create(ShopModule)
// SIGTERM: requests end, the locks are released, and then the client of Redis is closed.
app.enableShutdownHooks()
await app.listen(Number(process.env['PORT'] ?? 3000))
console.log(`listening on ${await app.getUrl()}`)
