/** A message of a grant that arrives before the answer to the attempt, on another connection. */
import { expect, test } from 'vitest'
import { systemClock } from '../../dist/clock/clock.js'
import type {
  Batch,
  Database,
  FoundGrant,
  WaitingClaim,
  WakeUpEvents,
} from '../../dist/stores/sql/connection/database.js'
import { SqlStore } from '../../dist/stores/sql/store.js'
import { makeClaim, QUEUE } from '../../../../test/support/claims.js'

const GRANT = { token: 1n, tokens: 1, ttlMs: 1000 }
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** A database that answers when the test lets it. */
class SlowDatabase {
  readonly name = 'postgres'
  readonly clock = systemClock
  readonly channel = 'none'
  readonly maxStatements = 2
  readonly largestBatch = 10
  readonly lends = false
  readonly transactionGuard = {} as Database['transactionGuard']
  readonly asked: WaitingClaim[] = []
  events: WakeUpEvents | undefined
  found: readonly FoundGrant[] = []
  #batches: Batch[] = []

  run(batch: Batch): void {
    batch.leave(() => void this.#batches.push(batch))
  }

  answer(outcome: string): void {
    for (const batch of this.#batches.splice(0))
      batch.answer(batch.requests.map(() => ({ outcome })))
  }

  findGrants = async (claims: readonly WaitingClaim[]): Promise<readonly FoundGrant[]> => {
    this.asked.push(...claims)
    return this.found
  }

  names = async (): Promise<readonly string[]> => []

  async listen(events: WakeUpEvents): Promise<void> {
    this.events = events
  }

  unlisten = async (): Promise<void> => undefined
  close = async (): Promise<void> => undefined
}

async function listening(): Promise<{ database: SlowDatabase; store: SqlStore }> {
  const database = new SlowDatabase()
  const store = new SqlStore(database)
  await store.watch(makeClaim('other'), () => undefined).ready
  return { database, store }
}

test.each([
  ['names the claim', ({ events }: SlowDatabase, id: string) => events?.onGrant(id, GRANT)],
  [
    'does not name the claim',
    (database: SlowDatabase, id: string) => {
      database.found = [{ id, grant: GRANT }]
      database.events?.onSomeGrant()
    },
  ],
  ['may have been missed', ({ events }: SlowDatabase) => events?.onHint()],
])('a message that %s wakes it when it is watched', async (_, tell) => {
  const { database, store } = await listening()
  const claim = makeClaim('a')
  const attempted = store.attempt(claim, QUEUE)
  await turn()
  tell(database, claim.id)
  await turn()
  database.answer('waiting')
  expect(await attempted).toMatchObject({ outcome: 'waiting' })
  let woken = 0
  store.watch(claim, (grant) => {
    // The message may be too old to be taken for the grant itself.
    expect(grant).toBeUndefined()
    woken += 1
  })
  await turn()
  expect(woken).toBe(1)
})

test('a claim without a message is not woken, and one that is answered otherwise is forgotten', async () => {
  const { database, store } = await listening()
  const [waits, busy, leaves] = [makeClaim('a'), makeClaim('a'), makeClaim('a')]
  const first = store.attempt(waits, QUEUE)
  await turn()
  database.answer('waiting')
  await first
  store.watch(waits, () => expect.unreachable('there was no message'))
  const second = store.attempt(busy, QUEUE)
  await turn()
  database.answer('busy')
  await second
  void store.attempt(leaves, QUEUE)
  void store.withdraw(leaves)
  database.events?.onSomeGrant()
  await turn()
  expect(database.asked.map(({ id }) => id)).not.toContain(busy.id)
  expect(database.asked.map(({ id }) => id)).not.toContain(leaves.id)
  expect(database.asked.map(({ id }) => id)).toContain(waits.id)
})
