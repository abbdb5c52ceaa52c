/** The worker thread of `renewFrom: 'worker'`: opens the store, and renews when it is needed. */
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { systemClock } from '../clock/clock.js'
import { invariant } from '../invariant.js'
import { hrtimeMs } from '../lease/renew/helper/hrtime.js'
import { LateRenewals } from '../lease/renew/helper/late-renewals.js'
import type { HelperSettings, SharedLease } from '../lease/renew/helper/messages.js'
import { SharedBoard } from '../lease/renew/helper/shared-leases.js'
import { openSource } from './open-source.js'

async function main(): Promise<void> {
  const { board, source, blockedAtMostMs, news } = workerData as HelperSettings & {
    readonly news: MessagePort
  }
  const early: SharedLease[] = []
  let take = (lease: SharedLease): void => void early.push(lease)
  invariant(parentPort !== null, 'this file runs in a worker thread')
  parentPort.on('message', (lease: SharedLease) => take(lease))
  const store = await openSource(source)
  const renewals = new LateRenewals({
    store,
    board: new SharedBoard(board),
    blockedAtMostMs,
    clock: { ...systemClock, monotonicMs: hrtimeMs },
    onStolen: (lease) => news.postMessage(lease, []),
  })
  take = (lease) => renewals.share(lease)
  for (const lease of early) renewals.share(lease)
}

void main()
