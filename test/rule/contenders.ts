/**
 * Sessions that ask for one free lock at the same moment: one gets it, and no token is given twice.
 */
import { CAPACITY_ALL, type AttemptResult, type Store } from 'holdfast/store'
import { expect } from 'vitest'

const ROUNDS = 150

/**
 * The stores must not share a connection. The rows of the lock are there from the second round on.
 */
export async function contendForFreeLock(stores: readonly Store[]): Promise<void> {
  const lock = 'contended'
  const tokens: bigint[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const results = await Promise.all(
      stores.map(async (store, index) =>
        store.attempt(
          {
            lock,
            id: `contender-${round}-${index}`,
            kind: 'mutex',
            capacity: CAPACITY_ALL,
            weight: CAPACITY_ALL,
            ttlMs: 10_000,
            heartbeatMs: 1000,
            owner: { clientId: `client-${index}`, host: 'contenders', pid: 1 },
          },
          { enqueue: false, tokens: 1 },
        ),
      ),
    )
    const winners = results.flatMap((result, index) =>
      result.outcome === 'granted' ? [index] : [],
    )
    expect(winners, `round ${round}`).toHaveLength(1)
    tokens.push(...results.flatMap(tokenOf))
    const [winner = 0] = winners
    await stores[winner]?.withdraw({ lock, id: `contender-${round}-${winner}`, ttlMs: 10_000 })
  }
  expect(tokens).toEqual([...new Set(tokens)].toSorted((one, other) => (one < other ? -1 : 1)))
}

function tokenOf(result: AttemptResult): bigint[] {
  return result.outcome === 'granted' && result.token !== undefined ? [result.token] : []
}
