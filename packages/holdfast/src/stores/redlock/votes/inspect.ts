/**
 * Inspects locks. A claim is shown as a holder when a majority of the nodes shows it. Votes of a
 * try in progress are no leases, nor are old votes of a node that was away. The nodes answer one by
 * one, not at one moment.
 */
import type { HolderInfo, InspectPage, InspectQuery, LockInfo } from '../../../store/contract.js'
import { noMajority } from '../nodes/no-majority.js'
import { quorumOf, type Panel } from '../nodes/node.js'
import { poll } from './poll.js'
import { reachedBy } from '../nodes/quorum.js'

type PageQuery = Extract<InspectQuery, { readonly prefix: string }>

/** @throws StoreUnavailableError when no majority of the nodes answers */
export async function inspectLock(panel: Panel, lock: string): Promise<LockInfo | undefined> {
  const [info] = merge(await ask(panel, { lock }, lock), quorumOf(panel))
  return info
}

export async function inspectLocks(panel: Panel, query: InspectQuery): Promise<InspectPage> {
  if ('lock' in query) {
    const info = await inspectLock(panel, query.lock)
    return { locks: info ? [info] : [], cursor: undefined }
  }
  const locks: LockInfo[] = []
  let { cursor } = query
  // Names without a holder leave their places on the page to the next ones.
  do {
    const page = await onePage(panel, { ...query, cursor, limit: query.limit - locks.length })
    locks.push(...page.locks)
    cursor = page.cursor
  } while (cursor !== undefined && locks.length < query.limit)
  return { locks, cursor }
}

async function onePage(panel: Panel, query: PageQuery): Promise<InspectPage> {
  const pages = await ask(panel, query)
  // A node whose page ended early does not show the names after its last one.
  const ends = pages.flatMap(({ cursor }) => cursor ?? []).sort()
  const end = ends[0]
  const merged = merge(pages, quorumOf(panel)).filter(
    ({ lock }) => end === undefined || lock <= end,
  )
  if (merged.length <= query.limit) return { locks: merged, cursor: end }
  const locks = merged.slice(0, query.limit)
  return { locks, cursor: locks.at(-1)?.lock }
}

async function ask(panel: Panel, query: InspectQuery, lock?: string): Promise<InspectPage[]> {
  const { clock, nodes, nodeTimeoutMs } = panel
  const answers = await poll(
    nodes.map(({ store }) => store.inspect(query)),
    // All of them: a holder may have its majority in any of the nodes.
    { clock, timeoutMs: nodeTimeoutMs, enough: () => false },
  )
  const { values } = answers
  if (values.length >= quorumOf(panel)) return values
  throw noMajority('the inspection', nodes.length, answers.failures(nodeTimeoutMs), lock)
}

/** Returns the locks in the order of their names. */
function merge(pages: readonly InspectPage[], quorum: number): LockInfo[] {
  const byName = new Map<string, LockInfo[]>()
  for (const info of pages.flatMap(({ locks }) => locks)) {
    const infos = byName.get(info.lock)
    if (infos) infos.push(info)
    else byName.set(info.lock, [info])
  }
  return [...byName.keys()]
    .sort()
    .flatMap((name) => mergeLock(byName.get(name) ?? [], quorum) ?? [])
}

function mergeLock(infos: readonly LockInfo[], quorum: number): LockInfo | undefined {
  const byClaim = new Map<string, { readonly holder: HolderInfo; readonly info: LockInfo }[]>()
  for (const info of infos) {
    for (const holder of info.holders) {
      byClaim.set(holder.claimId, [...(byClaim.get(holder.claimId) ?? []), { holder, info }])
    }
  }
  const held = [...byClaim.values()].filter((votes) => votes.length >= quorum)
  const info = held[0]?.[0]?.info
  if (!info) return undefined
  const holders = held.map((votes) =>
    mergeHolder(
      votes.map(({ holder }) => holder),
      quorum,
    ),
  )
  return {
    lock: info.lock,
    kind: info.kind,
    capacity: info.capacity,
    holders,
    waiters: [],
    lastToken: largest(holders.map(({ token }) => token)),
  }
}

/** A lease began with the vote that made the majority, and ends with the one that breaks it. */
function mergeHolder(votes: readonly HolderInfo[], quorum: number): HolderInfo {
  const [any] = votes as [HolderInfo, ...HolderInfo[]]
  const stolen = votes.filter((vote) => vote.stolen)
  const isStolen = votes.length - stolen.length < quorum
  const stealReason = stolen.find(({ stealReason: said }) => said !== undefined)?.stealReason
  return {
    claimId: any.claimId,
    owner: any.owner,
    weight:
      reachedBy(
        votes.map(({ weight }) => weight),
        quorum,
      ) ?? any.weight,
    token: agreedToken(votes, quorum),
    heldMs:
      reachedBy(
        votes.map(({ heldMs }) => heldMs),
        quorum,
      ) ?? any.heldMs,
    remainingMs:
      reachedBy(
        votes.map(({ remainingMs }) => remainingMs),
        quorum,
      ) ?? any.remainingMs,
    stolen: isStolen,
    ...(isStolen && stealReason !== undefined ? { stealReason } : {}),
  }
}

/**
 * A majority sealed the token. A node that voted late shows its vote until the next renewal.
 * Undefined when too few of the nodes that sealed it answer.
 */
function agreedToken(votes: readonly HolderInfo[], quorum: number): bigint | undefined {
  return votes.find(({ token }) => votes.filter((vote) => vote.token === token).length >= quorum)
    ?.token
}

function largest(tokens: readonly (bigint | undefined)[]): bigint | undefined {
  let found: bigint | undefined
  for (const token of tokens)
    if (token !== undefined && (found === undefined || token > found)) found = token
  return found
}
