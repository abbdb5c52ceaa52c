/**
 * The store of the thread that renews beside the event loop of a client. It stands still when the
 * client asks for it, and reports for how long it could not have renewed.
 */
import { BroadcastChannel } from 'node:worker_threads'
import { storeOf } from '@holdfast/stores'
import type { Store } from 'holdfast/store'
import type { Assignment } from '../protocol.js'
import { loadLibrary } from './library.js'
import { nowNs } from './log.js'

/** What the URL of the module says. */
export type ThreadTerms = Pick<Assignment, 'store' | 'connection' | 'copy' | 'index'>

/** The name of the channel between the two threads of a process. */
export const CHANNEL = 'holdfast-torture-thread'

export type ToThread =
  | { readonly ask: 'stop'; readonly afterMs: number; readonly forMs: number }
  | { readonly ask: 'stalled'; readonly sinceNs: bigint }
/** For how long the thread did nothing, or waited for an answer of the store. */
export interface Stalled {
  readonly said: 'stalled'
  readonly sinceNs: bigint
  readonly ms: number
}

const TICK_MS = 20

/** Opens the store once more, as the main thread does. */
export default async function threadStore(): Promise<Store> {
  const text = new URL(import.meta.url).searchParams.get('terms') ?? '{}'
  const { store: name, connection, copy, index } = JSON.parse(text) as ThreadTerms
  const library = await loadLibrary(copy)
  const { store } = await storeOf(name).torture.open(connection, index, library.store)
  return watched(store)
}

function watched(store: Store): Store {
  const stalls: { readonly untilNs: bigint; readonly ms: number }[] = []
  const note = (fromNs: bigint): void => {
    const untilNs = nowNs()
    stalls.push({ untilNs, ms: Number(untilNs - fromNs) / 1e6 })
    if (stalls.length > 10_000) stalls.splice(0, 5000)
  }
  let tickNs = nowNs()
  setInterval(() => {
    note(tickNs)
    tickNs = nowNs()
  }, TICK_MS)
  const channel = new BroadcastChannel(CHANNEL)
  const answer = (sinceNs: bigint): void => {
    const met = stalls.filter(({ untilNs }) => untilNs > sinceNs)
    const ms = Math.max(0, ...met.map((stall) => stall.ms))
    send(channel, { said: 'stalled', sinceNs, ms })
  }
  channel.addEventListener('message', (event) => {
    const order = (event as MessageEvent).data as ToThread
    if (order.ask === 'stalled') answer(order.sinceNs)
    else setTimeout(() => standStill(order.forMs), order.afterMs)
  })
  const renew = store.renew.bind(store)
  store.renew = async (renewals, take) => {
    const startNs = nowNs()
    try {
      return await renew(renewals, take)
    } finally {
      note(startNs)
    }
  }
  return store
}

/** Sends to the other thread. A channel of threads knows no origins, other than one of windows. */
export function send(channel: BroadcastChannel, message: ToThread | Stalled): void {
  const post = channel.postMessage.bind(channel)
  post(message)
}

function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
