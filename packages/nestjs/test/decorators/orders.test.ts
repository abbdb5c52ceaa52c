/** The decorators beside Nest's own, above and below them. */
import {
  Body,
  Controller,
  Get,
  Header,
  HttpCode,
  Injectable,
  Param,
  ParseIntPipe,
  Post,
  SetMetadata,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import { Interval, ScheduleModule, Timeout } from '@nestjs/schedule'
import { InjectLocks, LeaderOnly, Locked, OncePerTick } from '@holdfast/nestjs'
import type { Locks } from 'holdfast'
import { map, type Observable } from 'rxjs'
import { describe, expect, test } from 'vitest'
import { startApp } from '../app.js'

@Injectable()
class RoleGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return new Reflector().get<string>('role', context.getHandler()) === 'clerk'
  }
}

@Injectable()
class Wrapped implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((value: unknown) => ({ wrapped: value })))
  }
}

@Controller('orders')
class Orders {
  readonly #locks: Locks

  constructor(@InjectLocks() locks: Locks) {
    this.#locks = locks
  }

  @Locked((id: number) => `order:${id}`)
  @Get('above/:id')
  async above(@Param('id', ParseIntPipe) id: number): Promise<object> {
    return this.#seen(id)
  }

  @Get('below/:id')
  @Locked((id: number) => `order:${id}`)
  async below(@Param('id', ParseIntPipe) id: number): Promise<object> {
    return this.#seen(id)
  }

  @Post('between/:id')
  @HttpCode(202)
  @SetMetadata('role', 'clerk')
  @UseInterceptors(Wrapped)
  @Locked((id: number) => `order:${id}`)
  @UseGuards(RoleGuard)
  @Header('X-Shop', 'yes')
  async between(
    @Param('id', ParseIntPipe) id: number,
    @Body() body: { readonly by: string },
  ): Promise<object> {
    return { ...this.#seen(id), by: body.by }
  }

  @LeaderOnly('desk')
  @Get('leader/:id')
  @Locked((id: number) => `order:${id}`)
  async twice(@Param('id', ParseIntPipe) id: number): Promise<object> {
    return { ...this.#seen(id), leads: this.#locks.current('desk')?.held }
  }

  #seen(id: number): object {
    return { id, held: this.#locks.current(`order:${id}`)?.held }
  }
}

describe('on a handler of HTTP', () => {
  test.each(['above', 'below'])('%s @Get', async (way) => {
    const app = await startApp({ controllers: [Orders] }, { port: true })
    const answer = await app.request(`/orders/${way}/7`)
    expect(await answer.json()).toEqual({ id: 7, held: true })
    expect((await app.request(`/orders/${way}/seven`)).status).toBe(400)
  })

  test('between guards, interceptors, headers and metadata', async () => {
    const app = await startApp({ controllers: [Orders] }, { port: true })
    const answer = await app.request('/orders/between/7', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"by":"boat"}',
    })
    expect(answer.status).toBe(202)
    expect(answer.headers.get('x-shop')).toBe('yes')
    expect(await answer.json()).toEqual({ wrapped: { id: 7, held: true, by: 'boat' } })
  })

  test('two of them on one method', async () => {
    const app = await startApp({ controllers: [Orders] }, { port: true })
    const answer = await app.request('/orders/leader/7')
    expect(await answer.json()).toEqual({ id: 7, held: true, leads: true })
  })
})

@Injectable()
class Jobs {
  readonly ran: string[] = []

  @OncePerTick({ atLeastMs: 1_000 })
  @Interval('often', 10)
  async often(): Promise<void> {
    this.ran.push('often')
  }

  @Timeout('once', 10)
  @Locked('once')
  async once(): Promise<void> {
    this.ran.push('once')
  }
}

test('@Interval and @Timeout call methods under locks', async () => {
  const app = await startApp({ imports: [ScheduleModule.forRoot()], providers: [Jobs] })
  await expect.poll(() => app.get(Jobs).ran.toSorted()).toEqual(['often', 'once'])
})
