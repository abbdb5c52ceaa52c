/** A worker that opens the etcd store at the endpoints of its environment. */
import { serveWorker } from '@holdfast/conformance'
import { etcdStore } from 'holdfast/etcd'

const endpoints = (process.env['HOLDFAST_TEST_ENDPOINTS'] ?? '').split(',')
await serveWorker(() => etcdStore({ endpoints }))
