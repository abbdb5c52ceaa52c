/**
 * `@holdfast/broken-locks`: broken locks on Redis that a test harness must catch, and a good one
 * that it must not.
 *
 * Never published. The simulator runs them in virtual time over the modelled Redis, others run them
 * on a real server.
 */
export {
  type ControlLease,
  type ControlLock,
  type ControlSettings,
  type ControlWorld,
  type HistoryWriter,
} from './contract.js'
export {
  isReplyError,
  ReplyError,
  type SendCommand,
  type Command,
  type RedisConnection,
  type Reply,
  type Script,
  type Subscription,
} from './redis-connection.js'
export { InDoubtError } from './ask.js'
export { CONTROLS } from './catalogue.js'
export type { BrokenPromise, Control, Expectation } from './control.js'
export { goodLock } from './locks/good.js'
export { ModelRedis, type Published } from './model-redis.js'
export { SCRIPTS } from './scripts/index.js'
