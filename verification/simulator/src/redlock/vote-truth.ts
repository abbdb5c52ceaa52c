/**
 * What a majority of the servers held: a lease begins with the vote that makes the majority, and
 * ends with the one that breaks it. Grants of servers to withdrawn claims are judged for each
 * server.
 */
import type { TokenLog } from './token-log.js'
import type { HeldTruth, ServerHold, Truth } from '../server/truth.js'

export class VoteTruth implements HeldTruth {
  readonly #nodes: readonly Truth[]
  readonly #tokens: readonly TokenLog[]

  constructor(nodes: readonly Truth[], tokens: readonly TokenLog[]) {
    this.#nodes = nodes
    this.#tokens = tokens
  }

  get all(): ServerHold[] {
    const byClaim = new Map<string, ServerHold[]>()
    for (const vote of this.#nodes.flatMap(({ all }) => all)) {
      const votes = byClaim.get(vote.claimId)
      if (votes) votes.push(vote)
      else byClaim.set(vote.claimId, [vote])
    }
    return [...byClaim.values()].flatMap((votes) => {
      const token = this.#tokenOf(votes[0]?.claimId)
      return majorities(votes, this.#quorum).map((hold) => ({ ...hold, token, tokens: 1 }))
    })
  }

  get risen(): ServerHold[] {
    return this.#nodes.flatMap(({ risen }) => risen)
  }

  /**
   * A server that cannot be reached when its client closes keeps a vote for a TTL, and one vote
   * keeps no claim out.
   */
  leftOver(goneMs: number): ServerHold[] {
    const votes = this.#nodes.flatMap((node) => node.leftOver(goneMs))
    const count = (claimId: string): number =>
      votes.filter((vote) => vote.claimId === claimId).length
    return votes.filter(({ claimId }) => count(claimId) >= this.#quorum)
  }

  holds(claimId: string): boolean {
    return this.#nodes.filter((node) => node.holds(claimId)).length >= this.#quorum
  }

  /** The token that a majority sealed last for the claim. */
  #tokenOf(claimId: string | undefined): bigint | undefined {
    const servers = new Map<bigint, Set<number>>()
    for (const [server, { marks }] of this.#tokens.entries()) {
      for (const mark of marks) {
        if (mark.claimId !== claimId) continue
        const sealed = servers.get(mark.token) ?? new Set()
        servers.set(mark.token, sealed.add(server))
      }
    }
    let last: bigint | undefined
    for (const [token, { size }] of servers)
      if (size >= this.#quorum && (last === undefined || token > last)) last = token
    return last
  }

  get #quorum(): number {
    return Math.floor(this.#nodes.length / 2) + 1
  }
}

/** From when to when a majority of the votes of one claim stood. No two of a server overlap. */
function majorities(votes: readonly ServerHold[], quorum: number): ServerHold[] {
  const changes = votes
    .flatMap((vote) => [
      { atMs: vote.startMs, by: 1, vote },
      { atMs: vote.endMs, by: -1, vote },
    ])
    // A server that gives its vote again in the moment in which another takes it back makes no gap.
    .sort((a, b) => a.atMs - b.atMs || b.by - a.by)
  const found: ServerHold[] = []
  let standing = 0
  for (const { atMs, by, vote } of changes) {
    standing += by
    if (by > 0 && standing === quorum) found.push({ ...vote, startMs: atMs })
    if (by > 0 || standing !== quorum - 1) continue
    const hold = found.at(-1)
    if (hold) Object.assign(hold, { endMs: atMs, ended: vote.ended })
  }
  return found
}
