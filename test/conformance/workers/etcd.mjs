/** A process of its own that opens the etcd cluster it is told, and does what the suite asks. */
import { serveWorker } from 'holdfast/conformance'
import { etcdStore } from 'holdfast/etcd'

const endpoints = (process.env['HOLDFAST_TEST_ENDPOINTS'] ?? '').split(',')
await serveWorker(() => etcdStore({ endpoints }))
