/** What the tests of the torture use. */
export { parseCommand, UsageError, type Command } from './command.js'
export { drawPlan } from './faults/plan.js'
export { MUTATIONS, type TortureMutation } from './mutations.js'
export { PROMISES, waivers } from './promised.js'
export { redisPort, type RealPort } from './subjects/redis-port.js'
