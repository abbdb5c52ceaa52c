/** A read that is not asked for how it ended. */
import { expect, test, vi } from 'vitest'
import { enter } from '../../dist/stores/etcd/queue/enter-queue.js'
import { Keys } from '../../dist/stores/etcd/keys.js'
import { EtcdSession } from '../../dist/stores/etcd/session.js'
import type { QuorumReads } from '../../dist/stores/etcd/connection/quorum-reads.js'
import { newEntryData } from '../../dist/stores/coordination/wire.js'
import { after, makeClaim } from './support/world.js'

test('a claim that is never watched leaves no rejection unhandled', async () => {
  const unhandled = vi.fn<() => void>()
  process.on('unhandledRejection', unhandled)
  after(async () => void process.off('unhandledRejection', unhandled))
  const claim = makeClaim('unread')
  const now = { monotonicMs: 0, wallMs: 0 }
  const session = new EtcdSession(1n, 10_000, now, {} as QuorumReads)
  const result = await enter(
    async () => ({ succeeded: true, revision: 5n, term: 1n, answers: [] }),
    claim,
    newEntryData(claim, 0),
    { holder: session, waiter: session, openWaiter: async () => session },
    {
      keys: new Keys(),
      entryKeys: { take: () => 'key', exchange: () => 'key' },
      crowd: { before: () => Promise.reject(new Error('the store was closed')) },
      isFull: false,
    },
  )
  expect(result).toMatchObject({ outcome: 'entered', weight: Infinity })
  await new Promise((resolve) => setTimeout(resolve, 10))
  expect(unhandled).not.toHaveBeenCalled()
})
