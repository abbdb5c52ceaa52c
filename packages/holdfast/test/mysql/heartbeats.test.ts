/** What the heartbeats of many waiters cost the server. */
import type { Claim } from 'holdfast/store'
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { createPool } from 'mysql2/promise'
import { expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { after } from '../../../../test/support/after.js'

/** As many as share a statement. */
const WAITERS = 32

test.each(['a lock each', 'one lock'])(
  'heartbeats of waiters for %s take a few procedure calls, and get the same answers',
  async (locks) => {
    const server = await startMysql()
    after(() => server.remove())
    server.sql(mysqlSchema())
    const pool = createPool({ uri: server.url, connectionLimit: 1 })
    after(() => pool.end())
    const store = mysqlStore({ pool })
    after(() => store.close())
    const claimOf = (role: string, index: number): Claim => ({
      lock: locks === 'one lock' ? 'one' : `lock ${index}`,
      id: `${role}${index}`,
      kind: 'mutex',
      capacity: 1,
      weight: 1,
      ttlMs: 600_000,
      heartbeatMs: 200_000,
      owner: { clientId: 'client', host: 'host', pid: 1 },
    })
    const attemptAll = (role: string): Promise<readonly unknown[]> =>
      Promise.all(
        Array.from({ length: WAITERS }, async (_, index) =>
          store.attempt(claimOf(role, index), { enqueue: true, tokens: 1 }),
        ),
      )
    const calls = async (): Promise<number> => {
      const [rows] = await pool.query("show session status like 'Com_call_procedure'")
      return Number((rows as { readonly Value: string }[])[0]?.Value)
    }
    await attemptAll('holder')
    await attemptAll('waiter')
    const before = await calls()
    const answers = await attemptAll('waiter')
    expect((await calls()) - before).toBeLessThan(12)
    for (const answer of answers)
      expect(answer).toEqual({
        outcome: 'waiting',
        queueNumber: undefined,
        holderRemainingMs: expect.closeTo(600_000, -5.5),
      })
  },
)
