/** etcd beside `etcd3` and `etcdctl lock`. */
import { startEtcd } from '@holdfast/servers/etcd'
import type { Row } from '../report.js'
import {
  floorOf,
  hot,
  measureBeside,
  own,
  withServer,
  type Subject,
  type Workload,
} from '../service-suite.js'
import type { BenchSuite, Progress } from '../suite.js'

const etcd3 = (loops: number): Subject => {
  return (address) => ({ module: 'service-alone', args: ['etcd3', address, String(loops)] })
}
const etcdctl = (loops: number): Subject => {
  return (address) => ({ module: 'etcdctl', args: [address, String(loops)] })
}

const free = (loops: number): Omit<Workload, 'name'> => ({
  own: own('etcd', loops),
  floor: floorOf('etcd', loops),
  peer: etcd3(loops),
  peerName: 'etcd3',
  times: 1.5,
})

export const suite: BenchSuite = { measure: measureEtcd }

async function measureEtcd(rounds: number, progress: Progress): Promise<Row[]> {
  // etcd3's Lock does not wait, so only the command stands beside our waiters. It is far slower.
  const crowd = { peer: etcdctl(16), peerName: 'etcdctl lock', peerRounds: 2 }
  return withServer(startEtcd, ({ endpoints }) =>
    measureBeside('etcd', endpoints.join(), rounds, progress, [
      { name: 'free lock, one at a time', ...free(1) },
      { name: 'free locks, 64 in flight', ...free(64) },
      {
        name: 'one hot lock, 16 waiters, fifo',
        own: hot('etcd', 'fifo', 1),
        ...crowd,
        times: 1,
        strict: true,
      },
      {
        name: 'one hot lock, 4 processes x 16, fifo',
        own: hot('etcd', 'fifo', 4),
        ...crowd,
        times: 1,
        strict: true,
      },
      {
        name: 'one hot lock, 4 processes x 16, cohort',
        own: hot('etcd', 'cohort', 4),
        ...crowd,
        times: 5,
      },
    ]),
  )
}
