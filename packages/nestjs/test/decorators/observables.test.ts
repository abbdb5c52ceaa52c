/** Methods that return an Observable: the lock is held until that ends. */
import { Controller, Get, Injectable, Sse } from '@nestjs/common'
import { InjectLocks, LeaderOnly, Locked, OncePerTick } from '@holdfast/nestjs'
import type { Lease, Locks } from 'holdfast'
import { map, Observable, Subject, type Observer } from 'rxjs'
import { expect, test, vi } from 'vitest'
import { after } from '../../../../test/support/after.js'
import { startApp, type App } from '../app.js'

@Injectable()
@Controller()
class Prices {
  source = new Subject<number>()
  subscriptions = 0
  leases: (Lease | undefined)[] = []
  readonly #locks: Locks

  constructor(@InjectLocks() locks: Locks) {
    this.#locks = locks
  }

  @Locked('prices', { ttlMs: 3_000 })
  stream(): Observable<number> {
    return new Observable<number>((subscriber) => {
      this.subscriptions += 1
      this.leases.push(this.#locks.current('prices'))
      return this.source.subscribe(subscriber)
    })
  }

  @Get('last')
  @Locked('prices')
  async last(): Promise<Observable<number>> {
    return this.source
  }

  @Sse('events')
  @Locked('prices')
  events(): Observable<{ data: string }> {
    return this.source.pipe(map((price) => ({ data: `price ${price}` })))
  }

  @OncePerTick({ name: 'prices', atLeastMs: 1 })
  tick(): Observable<number> {
    return this.source
  }

  @LeaderOnly('prices')
  lead(): Observable<number> {
    return this.source
  }
}

interface Watched {
  readonly observable: Observable<unknown>
  readonly seen: unknown[]
  readonly observer: Partial<Observer<unknown>>
}

/** The method is decorated, so its Observable comes later. */
async function watch(stream: unknown): Promise<Watched> {
  const seen: unknown[] = []
  const observer = {
    next: (value: unknown) => void seen.push(value),
    error: (error: { code?: string; message: string }) =>
      void seen.push(error.code ?? error.message),
    complete: () => void seen.push('complete'),
  }
  return { observable: (await stream) as Observable<unknown>, seen, observer }
}

async function start(port = false): Promise<App & { readonly prices: Prices }> {
  const app = await startApp({ controllers: [Prices] }, { port })
  const prices = app.get(Prices)
  // A stream that a failed test left open would keep the shutdown waiting.
  after(() => prices.source.complete())
  return { ...app, prices }
}

async function isTaken({ store }: App): Promise<boolean> {
  const lease = await store.elsewhere.mutex('prices').tryAcquire()
  await lease?.release()
  return lease === undefined
}

test('the lock is held until the Observable completes', async () => {
  const app = await start()
  const { observable, seen, observer } = await watch(app.prices.stream())
  observable.subscribe(observer)
  app.prices.source.next(1)
  expect(await isTaken(app)).toBe(true)
  app.prices.source.next(2)
  app.prices.source.complete()
  await expect.poll(() => seen).toEqual([1, 2, 'complete'])
  expect(await isTaken(app)).toBe(false)
  expect(app.prices.leases[0]?.name).toBe('prices')
})

test('the lock is held until the Observable fails, and the error is passed on', async () => {
  const app = await start()
  const { observable, seen, observer } = await watch(app.prices.stream())
  observable.subscribe(observer)
  expect(await isTaken(app)).toBe(true)
  app.prices.source.error(new TypeError('no price'))
  await expect.poll(() => seen).toEqual(['no price'])
  expect(await isTaken(app)).toBe(false)
})

test('the lock is held until the subscriber leaves', async () => {
  const app = await start()
  const { observable, seen, observer } = await watch(app.prices.stream())
  const subscription = observable.subscribe(observer)
  expect(await isTaken(app)).toBe(true)
  subscription.unsubscribe()
  await expect.poll(() => isTaken(app)).toBe(false)
  expect(app.prices.source.observed).toBe(false)
  expect(seen).toEqual([])
})

test('an Observable without a subscriber frees the lock after 5 s', async () => {
  const app = await start()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  after(() => vi.useRealTimers())
  const { observable, seen, observer } = await watch(app.prices.stream())
  expect(await isTaken(app)).toBe(true)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(await isTaken(app)).toBe(false)
  observable.subscribe(observer)
  expect(seen).toEqual(['LOCK_USAGE'])
  expect(app.prices.subscriptions).toBe(0)
})

test('an Observable with a subscriber holds the lock for longer', async () => {
  const app = await start()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  after(() => vi.useRealTimers())
  const { observable, seen, observer } = await watch(app.prices.last())
  observable.subscribe(observer)
  await vi.advanceTimersByTimeAsync(6_000)
  app.prices.source.next(1)
  expect(await isTaken(app)).toBe(true)
  expect(seen).toEqual([1])
})

test('a second subscription is refused', async () => {
  const app = await start()
  const { observable, seen, observer } = await watch(app.prices.stream())
  const first = observable.subscribe(() => undefined)
  observable.subscribe(observer)
  expect(seen).toEqual(['LOCK_USAGE'])
  expect(await isTaken(app)).toBe(true)
  first.unsubscribe()
  await expect.poll(() => isTaken(app)).toBe(false)
  observable.subscribe(observer)
  expect(seen).toEqual(['LOCK_USAGE', 'LOCK_USAGE'])
  expect(app.prices.subscriptions).toBe(1)
})

test('a lost lock ends the Observable', async () => {
  const app = await start()
  const { observable, seen, observer } = await watch(app.prices.stream())
  observable.subscribe(observer)
  app.store.lose('prices')
  await expect.poll(() => seen).toEqual(['LOCK_LOST'])
  expect(app.prices.source.observed).toBe(false)
})

test('an Observable that fails at its subscription frees the lock', async () => {
  const app = await start()
  app.prices.source.error(new TypeError('no price'))
  const { observable, seen, observer } = await watch(app.prices.stream())
  observable.subscribe(observer)
  await expect.poll(() => seen).toEqual(['no price'])
  expect(await isTaken(app)).toBe(false)
})

test.each(['tick', 'lead'] as const)('@OncePerTick and @LeaderOnly: %s', async (way) => {
  const app = await start()
  const { observable, seen, observer } = await watch(app.prices[way]())
  observable.subscribe(observer)
  expect(await isTaken(app)).toBe(true)
  app.prices.source.next(1)
  app.prices.source.complete()
  await expect.poll(() => seen).toEqual([1, 'complete'])
})

test('a closing application waits for the Observable', async () => {
  const app = await start()
  const { observable, seen, observer } = await watch(app.prices.stream())
  observable.subscribe(observer)
  const closed = app.app.close()
  await expect
    .poll(() =>
      app.locks
        .mutex('x')
        .tryAcquire()
        .catch(() => 'closed'),
    )
    .toBe('closed')
  expect(seen).toEqual([])
  app.prices.source.next(1)
  app.prices.source.complete()
  await closed
  expect(seen).toEqual([1, 'complete'])
})

test('a handler of HTTP that returns one', async () => {
  const app = await start(true)
  const answer = app.request('/last')
  await expect.poll(() => app.prices.source.observed).toBe(true)
  expect(await isTaken(app)).toBe(true)
  app.prices.source.next(7)
  app.prices.source.complete()
  expect(await (await answer).text()).toBe('7')
  expect(await isTaken(app)).toBe(false)
})

test('events of a server hold the lock until the client leaves', async () => {
  const app = await start(true)
  const leaving = new AbortController()
  after(() => leaving.abort())
  const answer = await app.request('/events', { signal: leaving.signal })
  await expect.poll(() => app.prices.source.observed).toBe(true)
  expect(await isTaken(app)).toBe(true)
  app.prices.source.next(7)
  expect(await readUntil(answer, 'data: price 7')).toContain('data: price 7')
  leaving.abort()
  await expect.poll(() => isTaken(app)).toBe(false)
})

async function readUntil(answer: Response, wanted: string): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk)
    if (text.includes(wanted)) break
  }
  return text
}
