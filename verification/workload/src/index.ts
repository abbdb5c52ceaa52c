/** What the simulator and the torture share: one script, one actor, one belief. */
export { Actor, type EndedWait, type Environment, type Step, type Task } from './actor.js'
export { Belief, type Claimed, type Instruments } from './belief.js'
export { increment, type Incrementer, type Resource } from './counter.js'
export { Dice } from './dice.js'
export { AbortedByCaller, EXPECTED_CODES } from './expected.js'
export { exportLease, incrementLate } from './export.js'
export { withHeirs } from './heirs.js'
export {
  drawOperation,
  drawScripts,
  LOCKS,
  LOCKS_WITHOUT_PERMITS,
  PERMITS,
  STRICT,
  type ActorScript,
  type Heir,
  type LockChoice,
  type LockName,
  type Operation,
  type Shape,
} from './script.js'
export { targetOf, Targets, type Target } from './targets.js'
