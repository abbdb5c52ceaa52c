/**
 * The promise for the tokens of Redlock, for each two leases A and B of one lock. As long as B's
 * majority contains a server that sealed A's token and kept it, B's token is another one. If A's
 * acquire returned before B's began, and the server had sealed before it voted for B, B's token is
 * larger.
 */
import type { HistoryEvent } from '@holdfast/conformance'
import type { TokenMark } from '../redlock/token-log.js'
import type { Finding } from './finding.js'

interface Grant {
  readonly lock: string
  readonly claimId: string
  readonly token: bigint
  readonly beganNs: bigint
  readonly returnedNs: bigint
  /** The seals of its token on each server: one for each life of the server at most. */
  readonly seals: readonly (readonly Seal[])[]
}

/** Places in the log of one server. */
interface Seal {
  readonly life: number
  readonly at: number
  readonly votedAt: number
}

export function tokenFindings(
  events: readonly HistoryEvent[],
  logs: readonly (readonly TokenMark[])[],
): Finding[] {
  if (logs.length === 0) return []
  const byLock = new Map<string, Grant[]>()
  for (const grant of grantsOf(events, logs)) {
    const grants = byLock.get(grant.lock)
    if (grants) grants.push(grant)
    else byLock.set(grant.lock, [grant])
  }
  return [...byLock.values()].flatMap((grants) => [
    ...grants.flatMap((grant) => unsealed(grant)),
    ...grants.flatMap((one) => grants.flatMap((two) => (one === two ? [] : compare(one, two)))),
  ])
}

function grantsOf(
  events: readonly HistoryEvent[],
  logs: readonly (readonly TokenMark[])[],
): Grant[] {
  const began = new Map<string, bigint>()
  const grants: Grant[] = []
  for (const { f, type, pid, client, key, claim, token, t_ns } of events) {
    if (f !== 'acquire') continue
    const caller = `${pid} ${client} ${key}`
    if (type === 'invoke') began.set(caller, t_ns)
    const beganNs = began.get(caller)
    if (type !== 'ok' || claim === undefined || token === undefined || beganNs === undefined)
      continue
    const seals = logs.map((marks) => sealsOf(marks, claim, token))
    grants.push({ lock: key, claimId: claim, token, beganNs, returnedNs: t_ns, seals })
  }
  return grants
}

function sealsOf(marks: readonly TokenMark[], claimId: string, token: bigint): Seal[] {
  const seals: Seal[] = []
  let votedAt = -1
  for (const [at, mark] of marks.entries()) {
    if (mark.claimId !== claimId) continue
    if (mark.kind === 'vote') votedAt = at
    const isKnown = seals.some(({ life }) => life === mark.life)
    if (mark.token === token && !isKnown) seals.push({ life: mark.life, at, votedAt })
  }
  return seals
}

function unsealed({ lock, claimId, token, seals }: Grant): Finding[] {
  const sealed = seals.filter(({ length }) => length > 0).length
  if (sealed > seals.length / 2) return []
  const message = `${claimId} holds "${lock}" with the token ${token}, which ${sealed} of ${seals.length} servers sealed.`
  return [{ property: 'token-sealed', key: lock, message }]
}

function compare(one: Grant, two: Grant): Finding[] {
  const { lock } = one
  const shared = one.seals.flatMap((seals, server) =>
    seals.flatMap((first) =>
      (two.seals[server] ?? [])
        .filter(({ life }) => life === first.life)
        .map((second) => ({ first, second })),
    ),
  )
  if (shared.length === 0) return []
  if (one.token === two.token && one.claimId !== two.claimId) {
    const message = `${one.claimId} and ${two.claimId} both have the token ${one.token} of "${lock}".`
    return [{ property: 'token-unique', key: lock, message }]
  }
  const isCovered = shared.some(({ first, second }) => first.at < second.votedAt)
  if (!isCovered || one.returnedNs >= two.beganNs || two.token > one.token) return []
  const message =
    `${two.claimId} asked for "${lock}" after ${one.claimId} had it with the token ${one.token}, ` +
    `and got the token ${two.token}.`
  return [{ property: 'token-order', key: lock, message }]
}
