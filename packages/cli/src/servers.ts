/**
 * The code that `holdfast run` on the embedded store does not need: the other stores, and the
 * checks of `holdfast doctor`, which import them all. The bundle keeps it in one file, which is
 * loaded when any of it is needed, because each file and each line delays the start of a run.
 */
export * as doctor from './doctor/examine.js'
export * as etcd from './stores/etcd.js'
export * as mysql from './stores/mysql.js'
export * as postgres from './stores/postgres.js'
export * as redis from './stores/redis.js'
export * as zookeeper from './stores/zookeeper.js'
