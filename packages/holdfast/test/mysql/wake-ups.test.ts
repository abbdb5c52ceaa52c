/** Many clients that are woken at the same moment on one server. */
import { mysqlSchema } from 'holdfast/mysql'
import { createPool } from 'mysql2/promise'
import { afterAll, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { systemClock } from '../../dist/clock/clock.js'
import { Statements } from '../../dist/stores/sql/connection/statements.js'
import { poolOf } from '../../dist/stores/mysql/connection/clients.js'
import { WakeUpListener } from '../../dist/stores/mysql/wake-ups.js'

const CLIENTS = 12
const WAKERS = 8
const RUN_MS = 3000
/** MariaDB tries for 2 s to wake a session whose mutex is taken. */
const STALL_MS = 1800

const server = await startMysql()
server.sql(mysqlSchema())
const pool = createPool({ uri: server.url, connectionLimit: CLIENTS + WAKERS })

afterAll(async () => {
  await pool.end()
  await server.remove()
})

function channelOf(client: number): string {
  return `hfwoken${client}x`
}

function listen(channel: string, onHint: () => void): WakeUpListener {
  const statements = new Statements({
    store: 'mysql',
    clock: systemClock,
    requestTimeoutMs: 15_000,
    migrate: undefined,
    isRetriable: () => false,
    isCutOff: () => false,
    isUnmigrated: () => false,
    isReadOnly: () => false,
    onMoved: () => undefined,
    explain: (error) => error as never,
  })
  return new WakeUpListener(poolOf(pool), statements, channel, {
    onGrant: () => undefined,
    onSomeGrant: onHint,
    onHint: () => undefined,
  })
}

test('clients that are woken together do not delay each other by seconds', async () => {
  const hints = Array<number>(CLIENTS).fill(0)
  const listeners = hints.map((_, client) =>
    listen(channelOf(client), () => void (hints[client] = (hints[client] ?? 0) + 1)),
  )
  await Promise.all(listeners.map((listener) => listener.start()))
  const startMs = performance.now()
  let longestMs = 0
  await Promise.all(
    Array.from({ length: WAKERS }, async (_, waker) => {
      for (let turn = waker; performance.now() < startMs + RUN_MS; turn += 1) {
        const sentMs = performance.now()
        await pool.query('call holdfast_notify_clients_v1(?)', [`,${channelOf(turn % CLIENTS)}`])
        longestMs = Math.max(longestMs, performance.now() - sentMs)
      }
    }),
  )
  for (const listener of listeners) listener.stop()
  expect(longestMs).toBeLessThan(STALL_MS)
  expect(Math.min(...hints)).toBeGreaterThan(10)
})
