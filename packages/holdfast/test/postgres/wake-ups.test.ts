/**
 * The connection that listens exists only while a caller waits, for any order of its opening and
 * its end.
 */
import { EventEmitter, once } from 'node:events'
import { expect, test } from 'vitest'
import { systemClock } from '../../dist/clock/clock.js'
import type { Client } from '../../dist/stores/postgres/connection/port.js'
import { PostgresDatabase } from '../../dist/stores/postgres/service.js'
import type { ListenEvents } from '../../dist/stores/postgres/connection/own-connection.js'

/** More than the longest pause before a lost connection is opened again. */
const PAUSE_MS = 1500

/** A client whose one connection opens when the test lets it. */
class FakeClient implements Client {
  readonly lends = true
  listens = 0
  connected = false
  events: ListenEvents | undefined
  connect = (): Promise<void> => Promise.resolve()

  query: Client['query'] = ({ text }) => {
    if (text.includes('pg_notify')) this.events?.onNotify('')
    return Promise.resolve([])
  }

  tell: Client['tell'] = (_departure, _limit, ended) => ended(new Error('it has no rows'))

  script = (): Promise<void> => Promise.resolve()

  async listen(_channel: string, events: ListenEvents): Promise<void> {
    this.listens += 1
    await this.connect()
    this.connected = true
    this.events = events
  }

  leaveListener(): void {
    this.lose()
  }

  closeListener(): Promise<void> {
    this.connected = false
    this.events = undefined
    return Promise.resolve()
  }

  lose(): void {
    const { events } = this
    void this.closeListener()
    events?.onLost(false)
  }
}

function makeDatabase(): { client: FakeClient; database: PostgresDatabase } {
  const client = new FakeClient()
  const options = {
    client,
    schema: 'holdfast',
    autoMigrate: false,
    requestTimeoutMs: 5000,
    clock: systemClock,
  }
  return { client, database: new PostgresDatabase(options) }
}

const events = () => ({
  onGrant: () => undefined,
  onSomeGrant: () => undefined,
  onHint: () => undefined,
})

/** Time for a connection that is not to come. */
const whileItMayCome = (): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, PAUSE_MS))

test('a lost connection that cannot be opened again is left alone once no caller waits', async () => {
  const { client, database } = makeDatabase()
  await database.listen(events())
  client.connect = () => Promise.reject(new Error('refused'))
  client.lose()
  await expect.poll(() => client.listens, { timeout: 5000 }).toBe(2)
  await database.unlisten()
  client.connect = () => Promise.resolve()
  await whileItMayCome()
  expect([client.listens, client.connected]).toEqual([2, false])
})

test('a connection that opens again while the last waiter leaves is closed', async () => {
  const { client, database } = makeDatabase()
  await database.listen(events())
  const connecting = new EventEmitter()
  client.connect = () => once(connecting, 'made').then(() => undefined)
  client.lose()
  await expect.poll(() => client.listens, { timeout: 5000 }).toBe(2)
  await database.unlisten()
  connecting.emit('made')
  await expect.poll(() => client.connected, { timeout: 5000 }).toBe(false)
  await whileItMayCome()
  expect([client.listens, client.connected]).toEqual([2, false])
})

test('a new waiter during the reconnect: one connection opens, and opens again after a loss', async () => {
  const { client, database } = makeDatabase()
  await database.listen(events())
  client.lose()
  await database.unlisten()
  await database.listen(events())
  await whileItMayCome()
  expect([client.listens, client.connected]).toEqual([2, true])
  client.lose()
  await expect.poll(() => [client.listens, client.connected], { timeout: 5000 }).toEqual([3, true])
  await database.close()
  expect(client.connected).toBe(false)
})
