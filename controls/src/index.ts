export * from './port.js'
export { ModelRedis, type Published } from './model-redis.js'
export { goodLock } from './locks/good.js'
