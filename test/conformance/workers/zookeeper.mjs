/**
 * A process of its own that opens the ZooKeeper ensemble it is told, and does what the suite asks.
 */
import { serveWorker } from 'holdfast/conformance'
import { zookeeperStore } from 'holdfast/zookeeper'

const { HOLDFAST_TEST_CONNECT: connect = '', HOLDFAST_TEST_TICK_MS: tickMs } = process.env
await serveWorker(() => zookeeperStore({ connect, tickMs: Number(tickMs) }))
