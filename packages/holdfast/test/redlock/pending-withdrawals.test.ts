/** What a client asks of a node that is down, and how much of it the client remembers. */
import { VirtualClock } from '@holdfast/conformance'
import type { ClaimRef } from 'holdfast/store'
import { expect, test } from 'vitest'
import { PendingWithdrawals, MOST_PENDING } from '../../src/stores/redlock/pending-withdrawals.js'

const TTL_MS = 30_000

function claim(index: number): ClaimRef {
  return { lock: `lock:${index}`, id: `claim-${index}`, ttlMs: TTL_MS }
}

/** A node that counts the withdrawals of each turn, and answers while it is up. */
function makeNode() {
  const clock = new VirtualClock()
  const node = {
    up: false,
    withdrawn: [] as string[],
    turns: [] as { atMs: number; count: number }[],
  }
  const withdraw = ({ id }: ClaimRef): Promise<'absent'> => {
    const last = node.turns.at(-1)
    if (last?.atMs === clock.monotonicMs()) last.count += 1
    else node.turns.push({ atMs: clock.monotonicMs(), count: 1 })
    if (!node.up) return Promise.reject(new Error('down'))
    node.withdrawn.push(id)
    return Promise.resolve('absent')
  }
  return { clock, node, pending: new PendingWithdrawals({ withdraw }, clock) }
}

test('node that is down is asked once a second, whatever it owes', async () => {
  const { clock, node, pending } = makeNode()
  for (let index = 0; index < 500; index += 1) pending.add(claim(index))
  await clock.advance(5000)
  expect(node.turns).toHaveLength(6)
  // One call of the node's store takes so many.
  for (const { count } of node.turns) expect(count).toBeLessThanOrEqual(32)
})

test('node that answers again is asked for all that it owes at once', async () => {
  const { clock, node, pending } = makeNode()
  for (let index = 0; index < 500; index += 1) pending.add(claim(index))
  await clock.advance(2500)
  node.up = true
  await clock.advance(1000)
  expect(node.withdrawn).toHaveLength(500)
  expect(pending.has('claim-1')).toBe(false)
  await clock.advance(1000)
  expect(clock.timers).toBe(0)
})

test('node is asked at once for the first claim that it owes', async () => {
  const { clock, node, pending } = makeNode()
  node.up = true
  pending.add(claim(1))
  await clock.advance(0)
  expect(node.withdrawn).toEqual(['claim-1'])
})

test('claim whose TTL has passed is owed no more', async () => {
  const { clock, pending } = makeNode()
  pending.add(claim(1))
  await clock.advance(TTL_MS + 1000)
  expect(pending.has('claim-1')).toBe(false)
  expect(clock.timers).toBe(0)
})

test('node that owes too many claims to remember owes all for the TTL of those that were forgotten', async () => {
  const { clock, node, pending } = makeNode()
  for (let index = 0; index < MOST_PENDING; index += 1) pending.add(claim(index))
  expect(pending.has('another')).toBe(false)
  pending.add(claim(MOST_PENDING))
  expect(pending.has('another')).toBe(true)
  node.up = true
  await clock.advance(1000)
  expect(node.withdrawn).toHaveLength(MOST_PENDING)
  expect(pending.has('another')).toBe(true)
  await clock.advance(TTL_MS)
  expect(pending.has('another')).toBe(false)
})
