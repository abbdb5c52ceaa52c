/**
 * Checks a ZooKeeper ensemble: its servers, their leader and versions, and the session for the TTL.
 */
import {
  diagnose,
  examineServers,
  knownFault,
  type ZooKeeperServer,
} from '../../stores/zookeeper/diagnose.js'
import { zookeeperOptions } from '../../url/zookeeper.js'
import { formatDuration } from '../args/duration.js'
import { failure, ok, warning, type Finding } from './check.js'

/** The default TTL of locks. */
const TTL_MS = 30_000

export async function checkZooKeeper(url: string): Promise<Finding[]> {
  const findings: Finding[] = []
  try {
    const options = zookeeperOptions(url)
    findings.push(...(await examineServers(options)).flatMap(describe))
    const { sessionMs } = await diagnose(options, TTL_MS)
    findings.push(
      ok(
        'session',
        `one of ${formatDuration(sessionMs)} is granted, as leases of ${formatDuration(TTL_MS)} need it`,
      ),
    )
  } catch (error) {
    findings.push(failure('session', error))
  }
  return findings
}

function describe({ address, answers, version, mode }: ZooKeeperServer): Finding[] {
  if (!answers) return [warning('server', `${address} does not answer`)]
  if (version === undefined || mode === undefined) {
    return [
      ok(
        'server',
        `${address} answers, and does not show its version (4lw.commands.whitelist has no srvr)`,
      ),
    ]
  }
  const fault = knownFault(version)
  return [
    ok('server', `${address}, ZooKeeper ${version}, ${mode}`),
    ...(fault === undefined ? [] : [warning('version', `ZooKeeper ${version}: ${fault}`)]),
  ]
}
