/** What a client asks of a node that is down, and how much of it the client remembers. */
import { VirtualClock } from 'holdfast/testing'
import type { ClaimRef } from 'holdfast/store'
import { expect, test } from 'vitest'
import { OpenRequests } from '../../dist/stores/redlock/nodes/open-requests.js'
import { MOST_IN_DOUBT } from '../../dist/in-doubt/claims-in-doubt.js'
import { PendingWithdrawals } from '../../dist/stores/redlock/nodes/pending-withdrawals.js'

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
  return { clock, node, pending: new PendingWithdrawals({ withdraw }, clock, new OpenRequests()) }
}

test('node that is down gets one request a second, however many withdrawals are pending', async () => {
  const { clock, node, pending } = makeNode()
  for (let index = 0; index < 500; index += 1) pending.add(claim(index))
  await clock.advance(5000)
  expect(node.turns).toHaveLength(6)
  // One call of the node's store takes this many.
  for (const { count } of node.turns) expect(count).toBeLessThanOrEqual(32)
})

test('node that answers again gets all pending withdrawals at once', async () => {
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

test('first pending withdrawal is sent at once', async () => {
  const { clock, node, pending } = makeNode()
  node.up = true
  pending.add(claim(1))
  await clock.advance(0)
  expect(node.withdrawn).toEqual(['claim-1'])
})

test('withdrawal is no longer pending when the TTL of its claim has passed', async () => {
  const { clock, pending } = makeNode()
  pending.add(claim(1))
  await clock.advance(TTL_MS + 1000)
  expect(pending.has('claim-1')).toBe(false)
  expect(clock.timers).toBe(0)
})

test('with too many withdrawals to remember every claim counts as pending for the TTL of the rest', async () => {
  const { clock, node, pending } = makeNode()
  for (let index = 0; index < MOST_IN_DOUBT; index += 1) pending.add(claim(index))
  expect(pending.has('another')).toBe(false)
  pending.add(claim(MOST_IN_DOUBT))
  expect(pending.has('another')).toBe(true)
  node.up = true
  await clock.advance(1000)
  expect(node.withdrawn).toHaveLength(MOST_IN_DOUBT)
  expect(pending.has('another')).toBe(true)
  await clock.advance(TTL_MS)
  expect(pending.has('another')).toBe(false)
})
