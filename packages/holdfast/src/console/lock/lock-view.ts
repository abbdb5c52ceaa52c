/** One lock in full. */
import type { Sight } from '../access/sight.js'
import type { KnownLock } from '../look/known-lock.js'
import type { StoreLooks } from '../look/store-looks.js'
import type { SilentWaits } from '../trouble/silent-waits.js'
import type { LockView } from '../view.js'
import { chainFrom, heldMeanwhile, inTheWay } from './chain.js'
import { commandsFor } from './commands.js'
import { ageOf, holderView, kindOf, silentWaiterView, waiterView } from './holder-view.js'

const MOST_WAITERS = 200
const MOST_HOLDERS = 200

/** What is known of a lock beside its state. */
export interface LockPast extends Pick<LockView, 'history' | 'historySinceMs'> {
  /** The kind that the lock had. */
  readonly kind: LockView['kind'] | undefined
}

export interface LockViewer {
  readonly sight: Sight
  readonly storeOption: string | undefined
  readonly silent: SilentWaits
}

/** Returns a lock that the user may see; null when it is free, and nothing is known of its past. */
export function lockView(
  lock: string,
  looks: StoreLooks,
  past: LockPast,
  viewer: LockViewer,
): LockView | null {
  const { kind = 'mutex', history, historySinceMs } = past
  const known = looks.known.get(lock)
  if (known) return { ...busyView(known, looks, viewer), history, historySinceMs }
  if (history.length === 0) return null
  return {
    ...{ lock, kind, isFree: true, holders: [], waiters: [], waiterCount: 0, ageMs: 0 },
    ...{ commands: commandsFor(lock, undefined, viewer.storeOption), chain: [] },
    ...{ history, historySinceMs },
  }
}

function busyView(
  known: KnownLock,
  looks: StoreLooks,
  { sight, storeOption, silent }: LockViewer,
): Omit<LockView, 'history' | 'historySinceMs'> {
  const { lock, info } = known
  const nowMs = looks.moment.monotonicMs
  const holds = heldMeanwhile(lock, looks.known, sight)
  const first = inTheWay(known)
  const local = info.waiters.reduce((sum, { owner }) => sum + (owner.localWaiters ?? 0), 0)
  const holders = info.holders.slice(0, MOST_HOLDERS)
  const more = info.holders.length - holders.length
  const waiters = info.waiters.slice(0, MOST_WAITERS)
  const silentWaiters = silent.of(lock).map((wait) => silentWaiterView(wait, sight, nowMs))
  return {
    lock,
    kind: kindOf(known),
    ...(info.kind === 'semaphore' ? { capacity: info.capacity } : {}),
    isFree: info.holders.length === 0,
    holders: holders.map((holder) => holderView(known, holder, nowMs)),
    ...(more > 0 ? { moreHolders: more } : {}),
    waiters: waiters.map((waiter) =>
      waiterView(known, waiter, nowMs, holds.get(waiter.owner.clientId) ?? []),
    ),
    waiterCount: known.waiterCount,
    ...(local > 0 ? { localWaiters: local } : {}),
    ...(silentWaiters.length > 0 ? { silentWaiters } : {}),
    ...(info.lastToken === undefined ? {} : { lastToken: String(info.lastToken) }),
    ageMs: ageOf(known, nowMs),
    commands: commandsFor(lock, first && holderView(known, first, nowMs), storeOption),
    chain: chainFrom(lock, { known: looks.known, silent, nowMs }, sight),
  }
}
