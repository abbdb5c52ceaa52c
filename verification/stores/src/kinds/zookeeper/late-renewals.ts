/** Spots renewals on the wire of ZooKeeper. */
import type { Spotter } from '../../consensus/cut-follower.js'

/** Where a greeting of ZooKeeper has the timeout of the session; a request its number and code. */
const [TIMEOUT_AT, NUMBER_AT, CODE_AT] = [16, 4, 8]
const [PING, MULTI] = [-2, 14]
/** Sessions of leases that last long enough for two holders to be seen. */
const LONG_MS = 13_000
/** How much later than what was sent before. */
const QUIET_MS = 3000

/**
 * Spots renewals of long leases of ZooKeeper that come much later than the request before, on
 * connections that it has seen from the greeting.
 */
export function spotLateRenewals(): Spotter {
  const connections = new WeakMap<object, { readonly timeoutMs: number; sentMs: number }>()
  return (bytes, connection) => {
    if (intAt(bytes, NUMBER_AT) === PING) return false
    const nowMs = performance.now()
    const known = connections.get(connection)
    if (!known) {
      connections.set(connection, { timeoutMs: intAt(bytes, TIMEOUT_AT), sentMs: nowMs })
      return false
    }
    const quietMs = nowMs - known.sentMs
    known.sentMs = nowMs
    return known.timeoutMs >= LONG_MS && quietMs >= QUIET_MS && intAt(bytes, CODE_AT) === MULTI
  }
}

function intAt(bytes: Buffer, at: number): number {
  return bytes.length >= at + 4 ? bytes.readInt32BE(at) : 0
}
