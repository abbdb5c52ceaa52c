/** A release whose plain statement was not answered, and what the procedure then shows of it. */
import { expect, test } from 'vitest'
import { systemClock } from '../../dist/clock/clock.js'
import type { MysqlConnection } from '../../dist/stores/mysql/connection/clients.js'
import { PlainRequests } from '../../dist/stores/mysql/verbs/plain-requests.js'
import { SentBatch } from '../../dist/stores/mysql/verbs/sent-batch.js'
import { TimeLimit } from '../../dist/stores/sql/connection/statements.js'
import type { Answer, Answers, Request } from '../../dist/stores/sql/wire.js'

const CUT = Object.assign(new Error('cut off'), { code: 'ECONNRESET' })
const FREE: Answer = { outcome: 'granted', atOnce: true }
const EXISTING = { outcome: 'granted', existing: 1 }

const HELD: Request = request('attempt', 'held')
const RETAKE: readonly Request[] = [request('withdraw', 'held'), request('attempt', 'next')]

function request(verb: Request['verb'], id: string): Request {
  return { verb, lock: 'a', id, ttlMs: 1000, weight: 1, capacity: 1, tokens: 1 }
}

/** Sends a retake until it ends. The server does what is listed, one after the other. */
async function outcomesOf(replies: readonly (Error | Answer)[]): Promise<readonly unknown[]> {
  const plain = new PlainRequests('holdfast_', systemClock)
  plain.noteOthers([HELD])
  plain.noteAnswer(HELD, FREE, undefined)
  const left = [...replies]
  const reply = (ended: (error: unknown, value?: unknown) => void): void => {
    const next = left.shift()
    if (next instanceof Error) ended(next)
    else ended(undefined, [[{ answers: JSON.stringify([next]) }]])
  }
  const connection: MysqlConnection = {
    query: async () => [{ serverStatus: 2 }, undefined],
    execute: () => Promise.reject(CUT),
    change: (_sql, _values, ended) => reply(ended),
    tell: (_statement, ended) => reply(ended),
    release: () => undefined,
    destroy: () => undefined,
  }
  let answered: Answers | undefined
  const pool = { getConnection: async () => connection }
  const sent = new SentBatch(
    { pool, prefix: 'holdfast_', plain },
    {
      requests: RETAKE,
      isAtExit: false,
      leave: (send) => send(),
      leaveNow: () => undefined,
      unheard: () => undefined,
      answer: (answers) => (answered = answers),
      fail: (reason) => expect.unreachable(String(reason)),
    },
  )
  while (left.length > 0) {
    const limit = new TimeLimit(false)
    await new Promise<void>((resolve) => sent.send(limit, () => resolve()))
  }
  sent.resolve()
  return (answered ?? []).map((answer) => answer?.['outcome'])
}

test('it was released if the statement has granted the next claim', async () => {
  expect(await outcomesOf([CUT, { outcome: 'absent' }, EXISTING])).toEqual(['released', 'granted'])
})

test('it is unknown if the procedure may have granted that unheard', async () => {
  const replies = [CUT, { outcome: 'absent' }, CUT, EXISTING]
  expect(await outcomesOf(replies)).toEqual(['unknown', 'granted'])
})

test('it is unknown if the next claim has no lease', async () => {
  const replies = [CUT, { outcome: 'absent' }, { outcome: 'busy' }]
  expect(await outcomesOf(replies)).toEqual(['unknown', 'busy'])
})
