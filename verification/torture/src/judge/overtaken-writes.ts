/**
 * A resource that checks tokens accepts no write of a lease after a write of a later one, also
 * where two held at once. After a write of B no write of A is accepted if A's acquire returned
 * before B's began. The judge looks at the leases alone, and not at their tokens.
 */
import type { HistoryEvent, Hold } from '@holdfast/conformance'
import type { Finding } from './judgement.js'

interface Write {
  readonly lease: Hold
  readonly invokedNs: bigint
  readonly answeredNs: bigint
  readonly event: HistoryEvent
}

export function overtakenWrites(
  holds: readonly Hold[],
  events: readonly HistoryEvent[],
): Omit<Finding, 'promised'>[] {
  const found: Omit<Finding, 'promised'>[] = []
  for (const writes of byKey(acceptedWrites(holds, events)).values()) {
    const byAnswer = writes.toSorted((a, b) => compare(a.answeredNs, b.answeredNs))
    let next = 0
    let latest: Write | undefined
    for (const write of writes.toSorted((a, b) => compare(a.invokedNs, b.invokedNs))) {
      for (let done = byAnswer[next]; done && done.answeredNs < write.invokedNs;) {
        if (!latest || done.lease.invokedNs > latest.lease.invokedNs) latest = done
        done = byAnswer[(next += 1)]
      }
      if (latest && write.lease.startNs < latest.lease.invokedNs) found.push(finding(write, latest))
    }
  }
  return found
}

function acceptedWrites(holds: readonly Hold[], events: readonly HistoryEvent[]): Write[] {
  const leases = new Map(holds.map((hold) => [nameOf(hold), hold]))
  const open = new Map<string, bigint>()
  const writes: Write[] = []
  for (const event of events) {
    const lease = event.f === 'write' ? leases.get(nameOf(event)) : undefined
    if (!lease) continue
    if (event.type === 'invoke') open.set(nameOf(event), event.t_ns)
    const invokedNs = open.get(nameOf(event)) ?? event.t_ns
    if (event.type === 'ok') writes.push({ lease, invokedNs, answeredNs: event.t_ns, event })
  }
  return writes
}

/** A lease is known by its token here, and a write by the token that it was sent with. */
type Named = Pick<HistoryEvent, 'pid' | 'client' | 'key'> & { readonly token?: bigint | undefined }

function nameOf({ pid, client, key, token }: Named): string {
  return `${pid} ${client} ${key} ${token ?? ''}`
}

function byKey(writes: readonly Write[]): Map<string, Write[]> {
  const found = new Map<string, Write[]>()
  for (const write of writes) {
    const those = found.get(write.lease.key)
    if (those) those.push(write)
    else found.set(write.lease.key, [write])
  }
  return found
}

function finding(write: Write, before: Write): Omit<Finding, 'promised'> {
  const { key, client, pid } = write.lease
  const message =
    `The resource of "${key}" accepted a write of ${client} (pid ${pid}) after one of ` +
    `${before.lease.client} (pid ${before.lease.pid}), whose acquire began when the first had returned.`
  return {
    property: 'counter',
    kind: 'overtaken-write',
    key,
    message,
    events: [before.event, write.event],
  }
}

function compare(a: bigint, b: bigint): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
