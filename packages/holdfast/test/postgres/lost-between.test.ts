/** A connection of `pg` that is lost between its loan and the statement. */
import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { clientOf } from '../../dist/stores/postgres/connection/clients.js'
import type { PgStatement } from '../../dist/stores/postgres/connection/pools.js'
import { TimeLimit } from '../../dist/stores/sql/connection/statements.js'

test('ends no process: the statement fails when it is to be sent, and the pool gets it back', async () => {
  const released: unknown[] = []
  const lent = Object.assign(new EventEmitter(), {
    getTransactionStatus: () => 'I',
    query: () => expect.unreachable('the connection is lost'),
    release: (error?: Error) => released.push(error),
  })
  const pool = {
    query: () => undefined,
    options: {},
    totalCount: 0,
    idleCount: 1,
    listenerCount: () => 1,
    connect: (use: (error: undefined, client: unknown) => void) => use(undefined, lent),
  }
  let send: ((statement: PgStatement) => void) | undefined
  const failed = new Promise<unknown>((resolve) => {
    const limit = new TimeLimit(false)
    clientOf(pool).tell({ leave: (use) => (send = use) }, limit, resolve)
  })
  const lost = new Error('terminating connection')
  lent.emit('error', lost)
  expect(released).toEqual([])
  send?.({ name: undefined, text: 'select 1', values: [] })
  expect(await failed).toBe(lost)
  expect(released).toEqual([lost])
  expect(lent.listenerCount('error')).toBe(0)
})
