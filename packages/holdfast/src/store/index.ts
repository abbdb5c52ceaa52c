export * from './contract.js'
export { isPromise, type MaybePromise } from './maybe-promise.js'
export { checkName, MAX_NAME_BYTES } from './names.js'
export { UNREADABLE_OWNER } from './owner.js'
