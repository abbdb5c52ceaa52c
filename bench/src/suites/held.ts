/**
 * Measures what leases cost while they are only held. On ZooKeeper a renewal counts only when a
 * quorum has agreed to it, and each agreement is an entry in the servers' log.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { startZooKeeper } from '@holdfast/servers/zookeeper'
import type { Row } from '../report.js'
import { openLocks } from '../service-locks.js'
import { median } from '../stats.js'
import type { BenchSuite } from '../suite.js'

const TTL_MS = 6000
const LEASES = 1000
/** Until what acquiring wrote is behind it. */
const QUIET_MS = 3000
const COUNTED_MS = 2 * TTL_MS

export const suite: BenchSuite = { measure }

/** Counts log entries, whose number does not depend on how busy the machine is. */
async function measure(rounds: number, progress: (text: string) => void): Promise<Row[]> {
  const [one, many]: [number[], number[]] = [[], []]
  for (let round = 1; round <= rounds; round += 1) {
    progress(`held, zookeeper, round ${round} of ${rounds}`)
    one.push(await entriesPerSecond(1))
    many.push(await entriesPerSecond(LEASES))
  }
  return [
    {
      workload: `zookeeper, ${LEASES} leases of ${TTL_MS / 1000} s held by one client`,
      measured: perSecond(median(many)),
      against: `${perSecond(median(one))} with one lease`,
      // A cost, stated for operators who size their servers.
      bar: '',
      reached: true,
      rounds: { holdfast: many, one },
    },
  ]
}

/**
 * On a server of its own: ZooKeeper spends minutes on removing the empty nodes of earlier locks.
 */
async function entriesPerSecond(leases: number): Promise<number> {
  const ensemble = await startZooKeeper()
  const locks = await openLocks('zookeeper', ensemble.connect, { ttlMs: TTL_MS })
  try {
    const names = Array.from({ length: leases }, (_, index) => `held-${index}`)
    const held = await Promise.all(names.map((name) => locks.mutex(name).acquire()))
    await sleep(QUIET_MS)
    const before = await ensemble.logEntries()
    await sleep(COUNTED_MS)
    const entries = (await ensemble.logEntries()) - before
    for (const lease of held) lease.assertHeld()
    return entries / (COUNTED_MS / 1000)
  } finally {
    await locks.close()
    await ensemble.stop()
  }
}

function perSecond(entries: number): string {
  return `${entries.toFixed(1)} log entries/s`
}
