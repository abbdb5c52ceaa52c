/** What each run is asked to do: drawn from the seed. */
import type { Dice } from '@holdfast/workload'
import { PERMITS, type LockName, type RunWish, type Temper } from './record.js'

/** The mutex is where most can go wrong. */
const LOCKS: readonly LockName[] = ['mutex', 'mutex', 'shared', 'permits']
const TEMPERS: readonly Temper[] = ['plain', 'plain', 'family', 'stubborn', 'slow']
const WAITS_MS = [0, 300, 1500]
const NESTED_WAIT_MS = 1500
/** Some commands outlast a lease. */
const [LONG_TTLS, LONGEST_TTLS] = [1, 1.8]
/** How long a command works on after a fault met it: long enough to meet the next holder. */
const STAY_TTLS = 2.2

/** @param counts whether the store has semaphores */
export function drawWish(dice: Dice, ttlMs: number, counts: boolean): RunWish {
  const drawn = dice.pick(LOCKS)
  const lock = drawn === 'permits' && !counts ? 'mutex' : drawn
  const long = dice.chance(0.05)
  const holdMs = long
    ? dice.between(LONG_TTLS, LONGEST_TTLS) * ttlMs
    : 50 + dice.exponential(120, ttlMs)
  const temper = dice.pick(TEMPERS)
  return {
    lock,
    shared: lock === 'shared' && dice.chance(0.7),
    holdMs: Math.round(holdMs),
    temper,
    code: dice.chance(0.2) ? 7 : 0,
    waitMs: dice.chance(0.15) ? dice.pick(WAITS_MS) : undefined,
  }
}

/**
 * A run inside of a run: some begin with the one lock, some with the other.
 * @param waits whether the inner run ends its wait by itself, where no deadlock is found
 */
export function drawNestedWish(dice: Dice, waits: boolean): RunWish {
  const locks = ['nest-a', 'nest-b'] as const
  const first = dice.whole(0, 1)
  return {
    lock: locks[first] as LockName,
    inner: locks[1 - first] as LockName,
    shared: false,
    holdMs: Math.round(50 + dice.exponential(120, 500)),
    temper: 'plain',
    code: 0,
    waitMs: waits ? NESTED_WAIT_MS : undefined,
  }
}

/** How long a command works on that a fault has met, in milliseconds. */
export function stayMs(ttlMs: number): number {
  return STAY_TTLS * ttlMs
}

/** The longest that a command works, in milliseconds. */
export function longestHoldMs(ttlMs: number): number {
  return LONGEST_TTLS * ttlMs + stayMs(ttlMs) + SLOW_MS
}

/** So long one cleans up that is slow to end. */
const SLOW_MS = 300

export interface WitnessSite {
  readonly script: string
  readonly folder: string
  /** What an inner run is started with. */
  readonly program: string
}

/** The arguments of `holdfast`. */
export function argumentsOf(
  id: string,
  wish: RunWish,
  url: string,
  ttlMs: number,
  site: WitnessSite,
): string[] {
  const { lock, shared, holdMs, temper, code, waitMs, inner } = wish
  const innerRun = inner && argumentsOf(innerId(id), innerWish(wish, inner), url, ttlMs, site)
  return [
    ...['run', `torture-${lock}`, '--store', url, '--ttl', `${ttlMs}ms`],
    ...(shared ? ['--shared'] : []),
    ...(lock === 'permits' ? ['--permits', String(PERMITS)] : []),
    ...(waitMs === undefined ? [] : ['--wait', waitMs === 0 ? '0' : `${waitMs}ms`]),
    ...['--', '/bin/sh', site.script, site.folder, lock, id, shared ? 's' : 'x'],
    ...[String(lock === 'permits' ? PERMITS : 1), (holdMs / 1000).toFixed(3), temper, String(code)],
    ...(innerRun ? [process.execPath, site.program, ...innerRun] : []),
  ]
}

export function innerId(id: string): string {
  return `${id}.in`
}

export function innerWish({ inner: _inner, ...wish }: RunWish, inner: LockName): RunWish {
  return { ...wish, lock: inner, outer: wish.lock }
}
