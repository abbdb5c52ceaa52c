/**
 * What `holdfast run` on the embedded store does without: the other stores, and the doctor, who knows them all. It is one
 * file of the bundle, loaded when any of it is needed, since every file costs time, and so does every line of it.
 */
export { command as doctor } from './commands/doctor.js'
export * as etcd from './stores/etcd.js'
export * as mysql from './stores/mysql.js'
export * as postgres from './stores/postgres.js'
export * as redis from './stores/redis.js'
export * as zookeeper from './stores/zookeeper.js'
