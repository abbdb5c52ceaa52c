import { systemClock, type Clock } from '../clock/clock.js'

/**
 * The clock for fake timers that move `Date` and `setTimeout`, and not `performance.now`: those of
 * `node:test`. Those of Vitest, Jest and sinon move all three, and need no clock.
 */
export const dateClock: Clock = { ...systemClock, monotonicMs: () => Date.now() }
