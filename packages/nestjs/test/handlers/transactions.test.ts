/** How a lock and a transaction nest: docs/integrations/nestjs.md says what must be outside. */
import {
  Controller,
  Injectable,
  Param,
  Post,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common'
import { InjectLocks, Locked } from '@holdfast/nestjs'
import { onLockEvent, type Locks } from 'holdfast'
import { concatMap, from, lastValueFrom, type Observable } from 'rxjs'
import { expect, test } from 'vitest'
import { after } from '../../../../test/support/after.js'
import { startApp } from '../app.js'

/** What happened, in order. */
let steps: string[] = []

async function step(name: string): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
  steps.push(name)
}

@Injectable()
class Transaction implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return from(step('begin')).pipe(
      concatMap(() => next.handle()),
      concatMap(async (value: unknown) => {
        await step('commit')
        return value
      }),
    )
  }
}

/** A decorator such as `@Transactional()`: it wraps the method itself. */
function Transactional(_: object, __: string, descriptor: PropertyDescriptor): void {
  const method = descriptor.value as (...args: unknown[]) => Promise<unknown>
  descriptor.value = async function inTransaction(...args: unknown[]): Promise<unknown> {
    await step('begin')
    const value = await method.apply(this, args)
    await step('commit')
    return value
  }
}

interface OrderRequest {
  readonly params: { readonly id: string }
}

@Injectable()
class OrderLock implements NestInterceptor {
  readonly #locks: Locks

  constructor(@InjectLocks() locks: Locks) {
    this.#locks = locks
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { id } = context.switchToHttp().getRequest<OrderRequest>().params
    const work = (): Promise<unknown> => lastValueFrom(next.handle(), { defaultValue: undefined })
    return from(this.#locks.mutex(`order:${id}`).run(work, { waitMs: 0 }))
  }
}

@Controller()
class Orders {
  @Post('lock-inside/:id')
  @UseInterceptors(Transaction)
  @Locked((id: string) => `order:${id}`)
  async inside(@Param('id') _id: string): Promise<void> {
    await step('work')
  }

  @Post('lock-outside/:id')
  @UseInterceptors(OrderLock, Transaction)
  async outside(): Promise<void> {
    await step('work')
  }

  @Post('decorators/:id')
  @Locked((id: string) => `order:${id}`)
  @Transactional
  async decorated(@Param('id') _id: string): Promise<void> {
    await step('work')
  }
}

async function stepsOf(path: string): Promise<readonly string[]> {
  const app = await startApp({ controllers: [Orders] }, { port: true })
  steps = []
  for (const event of ['granted', 'released'] as const)
    after(onLockEvent(event, ({ lock }) => void steps.push(`${event} ${lock}`)))
  const answer = await app.request(path, { method: 'POST' })
  expect(answer.status).toBe(201)
  return steps
}

test('an interceptor of a transaction commits after @Locked has released', async () => {
  const lockInside = ['begin', 'granted order:7', 'work', 'released order:7', 'commit']
  expect(await stepsOf('/lock-inside/7')).toEqual(lockInside)
})

const LOCK_OUTSIDE = ['granted order:7', 'begin', 'work', 'commit', 'released order:7']

test('an interceptor of a lock that comes first covers the commit', async () => {
  expect(await stepsOf('/lock-outside/7')).toEqual(LOCK_OUTSIDE)
})

test('@Locked above a decorator of a transaction covers the commit', async () => {
  expect(await stepsOf('/decorators/7')).toEqual(LOCK_OUTSIDE)
})

test('an interceptor of a lock answers 423 as the decorators do', async () => {
  const app = await startApp({ controllers: [Orders] }, { port: true })
  const lease = await app.store.elsewhere.mutex('order:7').acquire()
  expect((await app.request('/lock-outside/7', { method: 'POST' })).status).toBe(423)
  await lease.release()
})
