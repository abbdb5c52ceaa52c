/**
 * A deadline on the wall clock.
 *
 * The trap: wall clocks are set. The damage: set back by a minute, the holder believes a minute too
 * long. Only the monotonic clock measures how long a lease has lasted.
 */
import { marginMs } from './good.js'
import { mutant } from './mutant.js'

export const wallClockDeadline = mutant(
  {
    id: 'wall-clock-deadline',
    title: 'Wall-clock deadline',
    trap: 'Date.now() can be set back.',
    damage: 'After a step back the holder believes too long by just that step.',
    cure: 'The monotonic clock.',
    breaks: 'exclusion',
    fault: "The holder's wall clock is set back.",
    caught: {
      perSeed: 0.63,
      directed:
        "Set the holder's wall clock back by 5 s and cut it off: a second client gets in beside it.",
    },
  },
  () => ({
    believe({ base }, ttlMs, clock) {
      const endMs = base.wallMs + ttlMs - marginMs(ttlMs)
      return () => endMs - clock.wallMs()
    },
  }),
)
