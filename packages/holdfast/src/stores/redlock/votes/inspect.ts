/**
 * Lists and inspects locks. A claim is shown as a holder when a majority of the nodes shows it.
 * Votes of a try in progress are no leases, nor are old votes of a node that was away. The nodes
 * answer one by one, not at one moment.
 */
import { LockUsageError, type LockError } from '../../../errors.js'
import type { HolderInfo, ListQuery, LockInfo, NamesPage } from '../../../store/contract.js'
import { STORE_NAME } from '../errors.js'
import { noMajority } from '../nodes/no-majority.js'
import { quorumOf, type Panel } from '../nodes/node.js'
import { poll } from './poll.js'
import { reachedBy } from '../nodes/quorum.js'

/** @throws StoreUnavailableError when no majority of the nodes answers */
export async function inspectLocks(panel: Panel, locks: readonly string[]): Promise<LockInfo[]> {
  const { clock, nodes, nodeTimeoutMs } = panel
  const answers = await poll(
    nodes.map(({ store }) => store.inspect(locks)),
    // All of them: a holder may have its majority in any of the nodes.
    { clock, timeoutMs: nodeTimeoutMs, enough: () => false },
  )
  const { values } = answers
  if (values.length >= quorumOf(panel)) return merge(values.flat(), quorumOf(panel))
  const lock = locks.length === 1 ? locks[0] : undefined
  throw noMajority('the inspection', nodes.length, answers.failures(nodeTimeoutMs), lock)
}

function merge(all: readonly LockInfo[], quorum: number): LockInfo[] {
  const byName = new Map<string, LockInfo[]>()
  for (const info of all) {
    const infos = byName.get(info.lock)
    if (infos) infos.push(info)
    else byName.set(info.lock, [info])
  }
  return [...byName.values()].flatMap((infos) => mergeLock(infos, quorum) ?? [])
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
    ...(any.ttlMs === undefined ? {} : { ttlMs: any.ttlMs }),
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

/** Where a list continues. Its cursor is `<node> <listed> <cursor>`. */
interface Place {
  /** The index of the node that is listed now. */
  readonly node: number
  /** How many nodes were listed to their end. */
  readonly listed: number
  readonly cursor: string | undefined
}

/**
 * Lists names on one node after the other. Each majority has a node among any `nodes - quorum + 1`
 * of them, so the names of that many nodes are complete. Most come more than once.
 * @throws StoreUnavailableError when too few of the nodes answer
 */
export async function listNames(panel: Panel, query: ListQuery): Promise<NamesPage> {
  const { nodes, clock, nodeTimeoutMs } = panel
  const needed = nodes.length - quorumOf(panel) + 1
  const failures = new Map<number, LockError>()
  const begin = readPlace(query.cursor)
  for (let [place, node] = [begin, nodes[begin.node]]; node; node = nodes[place.node]) {
    const { cursor, listed } = place
    const answers = await poll([node.store.list({ ...query, cursor })], {
      clock,
      timeoutMs: nodeTimeoutMs,
      enough: () => true,
    })
    const [page] = answers.values
    if (page) {
      const next = after(place, page.cursor)
      return { names: page.names, cursor: next.listed < needed ? writePlace(next) : undefined }
    }
    const [failure] = answers.failures(nodeTimeoutMs).values()
    if (failure) failures.set(place.node, failure)
    // Another node knows of each lock that this one has a vote of.
    place = { node: place.node + 1, listed, cursor: undefined }
  }
  throw noMajority('the list of locks', nodes.length, failures)
}

function after({ node, listed }: Place, cursor: string | undefined): Place {
  return cursor === undefined
    ? { node: node + 1, listed: listed + 1, cursor }
    : { node, listed, cursor }
}

function writePlace({ node, listed, cursor = '' }: Place): string {
  return `${node} ${listed} ${cursor}`
}

function readPlace(text: string | undefined): Place {
  if (text === undefined) return { node: 0, listed: 0, cursor: undefined }
  const [, node, listed, cursor] = /^(\d+) (\d+) (.*)$/s.exec(text) ?? []
  if (node === undefined || listed === undefined) {
    throw new LockUsageError('The cursor of this list is not of Redlock. Begin again.', {
      store: STORE_NAME,
    })
  }
  return { node: Number(node), listed: Number(listed), cursor: cursor === '' ? undefined : cursor }
}
