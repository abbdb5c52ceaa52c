/** ZooKeeper beside Curator. */
import { startZooKeeper } from '@holdfast/servers/zookeeper'
import { build } from '../foreign/languages.js'
import type { Row } from '../report.js'
import { floorOf, hot, measureBeside, own, withServer, type Subject } from '../service-suite.js'
import type { BenchSuite, Progress } from '../suite.js'

const curator = (threads: number, kind: 'free' | 'hot', processes = 1): Subject => {
  return (address) => ({
    module: 'foreign-peer',
    args: ['Curator', address, String(threads), kind, String(processes)],
  })
}

export const suite: BenchSuite = { measure: measureZooKeeper }

async function measureZooKeeper(rounds: number, progress: Progress): Promise<Row[]> {
  progress('building the peers in java')
  const reason = build('java')
  if (reason !== undefined) throw new Error(`${reason}: there is no Curator.`)
  const peerName = 'Curator'
  const store = 'zookeeper'
  return withServer(startZooKeeper, ({ connect }) =>
    measureBeside(store, connect, rounds, progress, [
      {
        name: 'free lock, one at a time',
        own: own(store, 1),
        floor: floorOf(store, 1),
        peer: curator(1, 'free'),
        peerName,
        times: 1.05,
      },
      {
        name: 'free locks, 64 in flight',
        own: own(store, 64),
        floor: floorOf(store, 64),
        peer: curator(64, 'free'),
        peerName,
        times: 1,
      },
      {
        name: 'one hot lock, 16 waiters, fifo',
        own: hot(store, 'fifo', 1),
        peer: curator(16, 'hot'),
        peerName,
        times: 1,
        strict: true,
      },
      {
        name: 'one hot lock, 4 processes x 16, fifo',
        own: hot(store, 'fifo', 4),
        peer: curator(16, 'hot', 4),
        peerName: 'four Curators',
        times: 1,
        strict: true,
      },
      {
        name: 'one hot lock, 4 processes x 16, cohort',
        own: hot(store, 'cohort', 4),
        // One JVM of sixteen threads is faster than four.
        peer: curator(16, 'hot'),
        peerName,
        times: 5,
      },
    ]),
  )
}
