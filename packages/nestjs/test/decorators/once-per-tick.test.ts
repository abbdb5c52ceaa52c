/** `@OncePerTick` on methods of providers. */
import { Injectable } from '@nestjs/common'
import { OncePerTick, type OncePerTickOptions } from '@holdfast/nestjs'
import { LockUsageError } from 'holdfast'
import { expect, test } from 'vitest'
import { startApp } from '../app.js'

@Injectable()
class Report {
  runs = 0

  @OncePerTick({ atLeastMs: 60_000 })
  async send(): Promise<number> {
    return (this.runs += 1)
  }

  @OncePerTick({ name: 'report', atLeastMs: 60_000, ttlMs: 120_000 })
  async named(): Promise<number> {
    return (this.runs += 1)
  }

  @OncePerTick({ name: 'failing', atLeastMs: 60_000 })
  async fail(): Promise<never> {
    throw new TypeError('no printer')
  }
}

@Injectable()
class Weekly extends Report {}

test('the first call of a tick runs, and the others resolve to undefined', async () => {
  const { get } = await startApp({ providers: [Report] })
  expect(await get(Report).send()).toBe(1)
  expect(await get(Report).send()).toBeUndefined()
})

test('the lock has the name of the class and the method', async () => {
  const { get, store } = await startApp({ providers: [Report] })
  await get(Report).send()
  const {
    locks: [seen],
  } = await store.elsewhere.inspect()
  expect(seen?.lock).toBe('Report.send')
})

test('a subclass has ticks of its own', async () => {
  const { get } = await startApp({ providers: [Report, Weekly] })
  expect(await get(Report).send()).toBe(1)
  expect(await get(Weekly).send()).toBe(1)
})

test('a name and a TTL of its own', async () => {
  const { get, store } = await startApp({ providers: [Report] })
  await get(Report).named()
  const { holders } = await store.elsewhere.mutex('report').inspect()
  expect(holders[0]?.remainingMs).toBeGreaterThan(50_000)
})

test('the error of the method is passed on', async () => {
  const { get } = await startApp({ providers: [Report] })
  await expect(get(Report).fail()).rejects.toThrow(new TypeError('no printer'))
})

test('a store that is away rejects', async () => {
  const { get, store } = await startApp({ providers: [Report] })
  const end = store.fail()
  await expect(get(Report).send()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  end()
})

test.each([
  ['no options', undefined, /@OncePerTick takes { atLeastMs }/],
  ['no atLeastMs', {}, /atLeastMs must be a number of milliseconds/],
  ['an unknown option', { atLeastMs: 1, cron: '* * * * *' }, /no option "cron" for @OncePerTick/],
  ['a TTL', { atLeastMs: 1, ttlMs: 0 }, /ttlMs must be at least 1 ms/],
  ['an overlap', { atLeastMs: 1, overlap: 'wait' }, /overlap of @OncePerTick must be 'skip'/],
  ['a name', { atLeastMs: 1, name: '' }, /name of @OncePerTick must be a string/],
])('%s are refused when the class is loaded', (_, options, message) => {
  const decorate = (): unknown => OncePerTick(options as unknown as OncePerTickOptions)
  expect(decorate).toThrow(message)
  expect(decorate).toThrow(LockUsageError)
})
