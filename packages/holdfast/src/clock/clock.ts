/**
 * Time and randomness, as Holdfast uses them.
 *
 * No other code in the runtime reads a clock, starts a timer or draws a random number. So the whole
 * runtime can run in virtual time from a seed.
 */
import { randomBytes } from 'node:crypto'
import { LockUsageError } from '../errors.js'

/** A pending timer. */
export interface Timer {
  /** Stops the timer. It does nothing after the timer has fired. */
  cancel(): void
  /**
   * Refs or unrefs the timer: whether it keeps the process alive. Virtual clocks leave it out.
   */
  hold?(needed: boolean): void
}

/** Time, as the runtime reads it. Tests and simulations pass a virtual clock. */
export interface Clock {
  /** Milliseconds on a clock that never goes back. Only differences have a meaning. */
  monotonicMs(): number
  /** Milliseconds since the Unix epoch. May jump; used to notice that the machine slept. */
  wallMs(): number
  /**
   * Calls `fire` once after `delayMs`. Infinity, and any delay that Node's timers cannot count, is
   * clamped: the timer then fires early, and the caller compares the clock again. A `background`
   * timer does not keep the process alive.
   */
  timer(delayMs: number, fire: () => void, background?: boolean): Timer
  /**
   * Calls `work` at the end of this tick, after everything that is ready in it. Default: as
   * `process.nextTick` does.
   */
  atTickEnd?(work: () => void): void
}

/** Random numbers and identifiers, as the runtime draws them. */
export interface Random {
  /** A number in [0, 1). */
  next(): number
  /** A fresh identifier, unique across processes and machines, of letters, digits, `-` and `_`. */
  id(): string
}

/** `setTimeout` turns anything larger into 1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** The clock of this process: the default of `createLocks`. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  timer(delayMs, fire, background = false) {
    const handle = setTimeout(fire, Math.min(Math.max(0, Math.ceil(delayMs)), LONGEST_TIMER_MS))
    if (background) unrefTimer(handle)
    return {
      cancel: () => clearTimeout(handle),
      hold: (needed) => (needed ? refTimer(handle) : unrefTimer(handle)),
    }
  },
}

/**
 * Lets the process end before a timer fires. Older dates of compatibility of Cloudflare's runtime
 * have numbers for timers, and no process to keep alive.
 */
export function unrefTimer(handle: NodeJS.Timeout | number): void {
  if (typeof handle === 'object') handle.unref()
}

function refTimer(handle: NodeJS.Timeout | number): void {
  if (typeof handle === 'object') handle.ref()
}

/** @throws LockUsageError for a value that is not a clock. */
export function checkClock(clock: Partial<Clock> | undefined): void {
  checkMethods('clock', clock, ['monotonicMs', 'wallMs', 'timer'])
}

/** @throws LockUsageError for a value that is not a source of randomness. */
export function checkRandom(random: Partial<Random> | undefined): void {
  checkMethods('random', random, ['next', 'id'])
}

function checkMethods<T>(what: string, value: T | undefined, methods: readonly (keyof T)[]): void {
  if (value === undefined) return
  if (value !== null && methods.every((method) => typeof value[method] === 'function')) return
  throw new LockUsageError(`${what} must be an object with the methods ${methods.join(', ')}.`)
}

/** Kept: the fake timers of Jest replace it, and would call work only when a test moves time. */
const nextTick: (work: () => void) => void = process.nextTick.bind(process)

/** Returns the `atTickEnd` of any clock, for frequent calls. */
export function atTickEndOf(clock: Clock): (work: () => void) => void {
  return clock.atTickEnd?.bind(clock) ?? nextTick
}

/** The random source of this process: the default of `createLocks`. */
export const systemRandom: Random = {
  next: () => Math.random(),
  // Users type ids on command lines, where a leading `-` would make an option of it. The
  // replacement costs a fiftieth of a bit.
  id: () => randomBytes(12).toString('base64url').replace(/^-/, '_'),
}
