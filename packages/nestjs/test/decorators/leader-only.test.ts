/** `@LeaderOnly` on methods of providers. */
import { Injectable } from '@nestjs/common'
import { InjectLocks, LeaderOnly, type LeaderOnlyOptions } from '@holdfast/nestjs'
import { LockUsageError, type Locks } from 'holdfast'
import { expect, test } from 'vitest'
import { gate, startApp, type App } from '../app.js'

@Injectable()
class Desk {
  readonly floor = 'first floor'
  readonly #locks: Locks

  constructor(@InjectLocks() locks: Locks) {
    this.#locks = locks
  }

  @LeaderOnly('desk')
  async serve(): Promise<string> {
    return `served under token ${this.#locks.assertHeld('desk').token > 0n}`
  }

  @LeaderOnly('desk', {
    otherwise(this: Desk, guest: string) {
      return `${guest}, go to the ${this.floor}`
    },
  })
  async greet(guest: string): Promise<string> {
    return `hello ${guest}`
  }

  @LeaderOnly('desk')
  async work(hold: Promise<void>, begin: () => void): Promise<string> {
    begin()
    await hold
    return 'done'
  }
}

async function desk(ttlMs?: number): Promise<App & { readonly desk: Desk }> {
  const app = await startApp({ providers: [Desk] }, ttlMs === undefined ? {} : { ttlMs })
  return { ...app, desk: app.get(Desk) }
}

test('the first instance that is called leads, and its methods run under the leadership', async () => {
  const app = await desk()
  expect(await app.desk.serve()).toBe('served under token true')
  const leader = await app.store.elsewhere.election('desk').leader()
  expect(leader?.owner.clientId).toBe(app.locks.clientId)
  expect(await app.desk.greet('Ada')).toBe('hello Ada')
})

test('calls at the same time share a campaign', async () => {
  const app = await desk()
  const greetings = await Promise.all(['Ada', 'Bob'].map((guest) => app.desk.greet(guest)))
  expect(greetings).toEqual(['hello Ada', 'hello Bob'])
})

test('other instances resolve to undefined, or to what otherwise answers', async () => {
  const app = await desk()
  await app.store.elsewhere.election('desk').campaign()
  expect(await app.desk.serve()).toBeUndefined()
  expect(await app.desk.greet('Ada')).toBe('Ada, go to the first floor')
})

test('an instance that was called takes over when the leader leaves', async () => {
  const app = await desk()
  const former = app.store.elsewhere.election('desk')
  await former.campaign()
  expect(await app.desk.serve()).toBeUndefined()
  await former.resign()
  await expect.poll(() => app.desk.serve()).toBe('served under token true')
})

test('a lost leadership is campaigned for again', async () => {
  const app = await desk(1_500)
  await app.desk.serve()
  const other = app.store.elsewhere.election('desk')
  const elected = other.campaign()
  app.store.lose('desk')
  await elected
  expect(await app.desk.serve()).toBeUndefined()
  await other.resign()
  await expect.poll(() => app.desk.serve()).toBe('served under token true')
})

test('a method that loses the leadership rejects', async () => {
  const app = await desk(1_500)
  const [hold, begun] = [gate(), gate()]
  const work = app.desk.work(hold.opened, begun.open)
  await begun.opened
  const elected = app.store.elsewhere.election('desk').campaign()
  app.store.lose('desk')
  await elected
  hold.open()
  await expect(work).rejects.toMatchObject({ code: 'LOCK_LOST' })
})

test('the first call while the store is away rejects, and a later one leads', async () => {
  const app = await desk()
  const end = app.store.fail()
  await expect(app.desk.serve()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  end()
  await expect.poll(() => app.desk.serve()).toBe('served under token true')
})

test('the end of the application waits for the method, and frees the leadership', async () => {
  const app = await desk()
  const [hold, begun] = [gate(), gate()]
  const work = app.desk.work(hold.opened, begun.open)
  await begun.opened
  const closed = app.app.close()
  const next = app.store.elsewhere.election('desk')
  expect(await next.campaign({ waitMs: 20 }).catch((error: { code: string }) => error.code)).toBe(
    'LOCK_TIMEOUT',
  )
  hold.open()
  expect(await work).toBe('done')
  await closed
  expect((await next.campaign({ waitMs: 0 })).held).toBe(true)
})

test.each([
  ['a name', '', {}, /name of @LeaderOnly must be a string/],
  ['an unknown option', 'desk', { else: 1 }, /no option "else" for @LeaderOnly/],
  ['otherwise', 'desk', { otherwise: 'no' }, /option otherwise of @LeaderOnly must be a function/],
])('%s is refused when the class is loaded', (_, name, options, message) => {
  const decorate = (): unknown => LeaderOnly(name, options as LeaderOnlyOptions<[]>)
  expect(decorate).toThrow(message)
  expect(decorate).toThrow(LockUsageError)
})
