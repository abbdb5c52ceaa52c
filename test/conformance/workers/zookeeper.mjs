/** A worker that opens the ZooKeeper store at the addresses of its environment. */
import { serveWorker } from '@holdfast/conformance'
import { zookeeperStore } from 'holdfast/zookeeper'

const { HOLDFAST_TEST_CONNECT: connect = '', HOLDFAST_TEST_TICK_MS: tickMs } = process.env
await serveWorker(() => zookeeperStore({ connect, tickMs: Number(tickMs) }))
