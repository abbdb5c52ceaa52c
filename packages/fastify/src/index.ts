/** `@holdfast/fastify`: locks for the requests of a Fastify application. */
export { holdfastFastify } from './plugin.js'
export type { RequestLock } from './plugin.js'
export type { HoldfastFastifyOptions, RequestLockOptions } from './options.js'
export { RequestLockError } from './http-errors.js'
