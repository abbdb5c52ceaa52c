/**
 * Batches of renewals: which answers of the nodes each lease waits for. No servers: each node
 * answers when the test lets it.
 */
import { SeededRandom, VirtualClock } from 'holdfast/testing'
import type { Claim, Renewal, RenewalListener, RenewResult } from 'holdfast/store'
import { describe, expect, test } from 'vitest'
import { RequestTimeouts } from '../../dist/clock/request-timeouts.js'
import { OpenRequests } from '../../dist/stores/redlock/nodes/open-requests.js'
import { PendingWithdrawals } from '../../dist/stores/redlock/nodes/pending-withdrawals.js'
import type { Voter } from '../../dist/stores/redlock/nodes/node.js'
import { RedlockStore } from '../../dist/stores/redlock/store.js'

const NODE_TIMEOUT_MS = 500
const RENEWED: RenewResult = { outcome: 'renewed' }
const LOST: RenewResult = { outcome: 'lost', reason: 'expired' }
const [ONE, TWO] = ['one', 'two'].map((id): Renewal => {
  return { lock: `lock:${id}`, id, ttlMs: 3000, owner: { clientId: 'test', host: 'test', pid: 1 } }
}) as [Renewal, Renewal]

/** A node that reports these results, or answers nothing about a lease where there is none. */
type Says = readonly (RenewResult | undefined)[] | Error

function renewOver(...nodes: readonly Says[]) {
  const clock = new VirtualClock()
  const known = new Map<number, string>()
  const panel = nodes.map((says) => {
    const renew = (_: unknown, report: RenewalListener): Promise<readonly RenewResult[]> => {
      if (says instanceof Error) return Promise.reject(says)
      for (const [index, result] of says.entries()) if (result) report(index, result)
      const isWhole = says.every((result) => result !== undefined)
      return isWhole ? Promise.resolve(says) : new Promise(() => undefined)
    }
    const store = { renew, withdraw: () => Promise.resolve('absent') } as unknown as Voter
    const requests = new OpenRequests()
    return { store, requests, withdrawals: new PendingWithdrawals(store, clock, requests) }
  })
  const random = new SeededRandom(1)
  const timeouts = new RequestTimeouts(clock, NODE_TIMEOUT_MS)
  const limits = { nodeTimeoutMs: NODE_TIMEOUT_MS, timeouts, maxClockDifferenceMs: 10_000 }
  const store = new RedlockStore({ nodes: panel, clock, random, ...limits })
  const all = store.renew([ONE, TWO], (index, { outcome }) => void known.set(index, outcome))
  return { clock, known, all, withdrawAt: (node: number) => panel[node]?.withdrawals.add(ONE) }
}

describe('over three nodes', () => {
  test('lease that two nodes renewed does not wait for one that is in doubt', async () => {
    const { clock, known, all } = renewOver(
      [RENEWED, RENEWED],
      [RENEWED, LOST],
      [undefined, undefined],
    )
    await clock.advance(0)
    expect([...known]).toEqual([[0, 'renewed']])
    await clock.advance(NODE_TIMEOUT_MS)
    expect([...known]).toEqual([
      [0, 'renewed'],
      [1, 'unknown'],
    ])
    expect((await all).map(({ outcome }) => outcome)).toEqual(['renewed', 'unknown'])
  })

  test('lease does not wait for a node that hangs with another one', async () => {
    const { clock, known } = renewOver(
      [RENEWED, undefined],
      [RENEWED, undefined],
      [RENEWED, RENEWED],
    )
    await clock.advance(0)
    expect([...known]).toEqual([[0, 'renewed']])
  })

  test('lease that two nodes lost is lost at once', async () => {
    const { clock, known } = renewOver([undefined, LOST], [undefined, LOST], [undefined, undefined])
    await clock.advance(0)
    expect([...known]).toEqual([[1, 'lost']])
  })

  test('renewal without a majority of answers names the nodes that failed', async () => {
    const { clock, all } = renewOver([RENEWED, RENEWED], new Error('refused'), [
      undefined,
      undefined,
    ])
    await clock.advance(NODE_TIMEOUT_MS)
    const [result] = await all
    expect(result).toMatchObject({
      outcome: 'unknown',
      cause: {
        message: expect.stringMatching(
          /2 of 3 nodes failed at the renewal, and no majority is left .*refused/,
        ) as string,
      },
    })
  })

  test('renewal on which a majority disagrees does not say that no majority is left', async () => {
    const { clock, all } = renewOver([RENEWED, RENEWED], [LOST, RENEWED], new Error('refused'))
    await clock.advance(NODE_TIMEOUT_MS)
    const [result] = await all
    expect(result).toMatchObject({
      outcome: 'unknown',
      cause: {
        message: expect.stringMatching(/1 of 3 nodes failed .* and the others disagree/) as string,
      },
    })
  })
})

test('last renewal of a claim forgets its votes, and restores none', async () => {
  const attempts: string[] = []
  const clock = new VirtualClock()
  const panel = [0, 1, 2].map((node) => {
    const store = {
      attempt: (claim: Claim) => {
        attempts.push(`${claim.id} at ${node}`)
        const granted = { outcome: 'granted', tokens: 1, ttlMs: claim.ttlMs } as const
        const token = BigInt(clock.monotonicMs() * 1000 + 1)
        return { ...granted, token, alreadyGranted: false, remainingMs: claim.ttlMs }
      },
      seal: () => Promise.resolve({ outcome: 'sealed' }),
      // One node has lost its data.
      renew: (all: readonly Renewal[], report?: RenewalListener) => {
        const results = all.map(() => (node === 2 ? LOST : RENEWED))
        for (const [index, result] of results.entries()) report?.(index, result)
        return Promise.resolve(results)
      },
      withdraw: () => Promise.resolve('absent'),
    } as unknown as Voter
    const requests = new OpenRequests()
    return { store, requests, withdrawals: new PendingWithdrawals(store, clock, requests) }
  })
  const timeouts = new RequestTimeouts(clock, NODE_TIMEOUT_MS)
  const limits = { nodeTimeoutMs: NODE_TIMEOUT_MS, timeouts, maxClockDifferenceMs: 10_000 }
  const store = new RedlockStore({ nodes: panel, clock, random: new SeededRandom(1), ...limits })
  const claim: Claim = { ...ONE, kind: 'mutex', capacity: 1, weight: 1, heartbeatMs: 1000 }
  expect((await store.attempt(claim, { enqueue: true, tokens: 1 })).outcome).toBe('granted')
  expect(await store.renew([claim])).toEqual([RENEWED])
  await clock.advance(0)
  // The vote that the node had lost.
  expect(attempts).toHaveLength(4)
  expect(await store.renew([{ ...claim, isLast: true }])).toEqual([RENEWED])
  await clock.advance(0)
  expect(attempts).toHaveLength(4)
})
