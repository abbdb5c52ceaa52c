/**
 * Micro-batching: the attempts, renewals and withdrawals of one tick travel as one script call. In
 * a Cluster each lock has a call of its own, since a script there may only touch keys of one slot.
 * These leave together, and those for one member travel together.
 *
 * Withdrawals go first, since they make room. An attempt that was made in the same tick as its own
 * withdrawal then finds itself withdrawn, which is as good an answer as any. Each request has a
 * result of its own.
 */
import { TickQueue } from '../../../collections/tick-queue.js'
import { withdrawalsFirst } from '../../../collections/withdrawals-first.js'
import type { LockError } from '../../../errors.js'
import { invariant } from '../../../invariant.js'
import { textOf } from '../wire/answers.js'
import type { ClaimRef } from '../../../store/contract.js'
import { areRequestsTraced, traceRequest } from '../../../store/request-channel.js'
import type { SendScript } from '../connection/deployment.js'
import { keyOf } from '../keys.js'
import { explain } from '../errors.js'
import type { PublishTo } from '../connection/subscriptions.js'
import type { ReplyListener } from '../connection/resilient-caller.js'
import { applyBatch } from '../rule/scripts.generated.js'
import { NO_TERMS, packTtl, type EncodedTerms } from '../wire/terms-encoder.js'

/** `a`: attempt, `r`: renew, `w`: withdraw, `t`: retract, `s`: seal. */
export type Verb = 'a' | 'r' | 'w' | 't' | 's'

/** A request. It gets the reply of a call of its own, or its line of a reply to several. */
export interface BatchRequest extends ReplyListener {
  readonly verb: Verb
  readonly claim: ClaimRef
  /** What the script needs besides the claim's id. Requests with equal terms share them. */
  readonly terms: EncodedTerms
}

/**
 * A call leaves as soon as it has this many requests. The server works on the first one of a tick
 * while the client makes the others. These are larger, since each call has a cost of its own.
 */
const LARGEST_BATCH = { first: 16, later: 128 }

export interface BatchSettings {
  /** Stands before every key. */
  readonly prefix: string
  /** Whether a call may only concern the keys of one lock. */
  readonly oneLockACall: boolean
  readonly publishTo: PublishTo
  readonly atTickEnd: (work: () => void) => void
  readonly send: SendScript
}

/** Returns a queue whose requests leave together when their tick ends. */
export function batchQueue(settings: BatchSettings): TickQueue<BatchRequest> {
  const sender = new BatchSender(settings)
  return new TickQueue(sender.send.bind(sender), settings.atTickEnd, LARGEST_BATCH)
}

/** Returns the keys and arguments of a call that withdraws one claim firmly. */
export function withdrawalCall(
  { prefix, publishTo }: Pick<BatchSettings, 'prefix' | 'publishTo'>,
  { lock, id, ttlMs }: ClaimRef,
): [keys: string[], args: string[]] {
  const channel = typeof publishTo === 'string' ? publishTo : publishTo(lock)
  return [[keyOf(prefix, lock)], [`j ${channel}`, JSON.stringify(['w', 0, id]), `[${ttlMs},1]`]]
}

function isWithdrawal({ verb }: BatchRequest): boolean {
  return verb === 'w'
}

class BatchSender {
  readonly #settings: BatchSettings

  constructor(settings: BatchSettings) {
    this.#settings = settings
  }

  send(requests: readonly BatchRequest[]): void {
    const sorted = requests.length === 1 ? requests : withdrawalsFirst(requests, isWithdrawal)
    if (!this.#settings.oneLockACall) this.#sendTogether(sorted)
    else for (const group of byLock(sorted)) this.#sendTogether(group)
  }

  #sendTogether(requests: readonly BatchRequest[]): void {
    const [first] = requests as readonly [BatchRequest]
    const { prefix, publishTo, send } = this.#settings
    const channel = typeof publishTo === 'string' ? publishTo : publishTo(first.claim.lock)
    const keys: string[] = []
    for (const { claim } of requests) keys.push(keyOf(prefix, claim.lock))
    const listener = requests.length === 1 ? first : new BatchListener(requests)
    const args = alikeArgs(channel, requests) ?? anyArgs(channel, requests)
    if (!areRequestsTraced()) send(listener, applyBatch, keys, args)
    else {
      const claimIds = requests.map(({ claim }) => claim.id)
      traceRequest(claimIds, () => send(listener, applyBatch, keys, args))
    }
  }
}

/** Hands the reply to several requests to each of them. */
class BatchListener implements ReplyListener {
  readonly #requests: readonly BatchRequest[]

  constructor(requests: readonly BatchRequest[]) {
    this.#requests = requests
  }

  done(error: LockError | undefined, reply?: unknown): void {
    const requests = this.#requests
    let lines: readonly string[]
    try {
      if (error !== undefined) throw error
      lines = textOf(reply).split('\n')
      invariant(lines.length === requests.length, 'a script answers each request of its call')
    } catch (caught) {
      for (const request of requests) request.done(explain(caught))
      return
    }
    let index = 0
    for (const request of requests) request.done(undefined, lines[index++])
  }
}

function byLock(requests: readonly BatchRequest[]): Iterable<readonly BatchRequest[]> {
  if (requests.length === 1) return [requests]
  const groups = new Map<string, BatchRequest[]>()
  for (const request of requests) {
    const { lock } = request.claim
    const group = groups.get(lock)
    if (group) group.push(request)
    else groups.set(lock, [request])
  }
  return groups.values()
}

/**
 * Returns the arguments for withdrawals that are alike, then attempts that are alike. Nothing for
 * other requests. Without JSON to decode the server has an eighth to a quarter less to do for a
 * pair.
 */
function alikeArgs(channel: string, requests: readonly BatchRequest[]): string[] | undefined {
  const released = countAlike(requests, 0, 'w')
  const attempted = countAlike(requests, released, 'a')
  if (released + attempted < requests.length) return undefined
  const args: string[] = []
  const { fast: ttlMs = 0 } = requests[0]?.terms ?? NO_TERMS
  const { fast, text } = requests.at(-1)?.terms ?? NO_TERMS
  if (attempted === 0) args.push(`w${ttlMs} ${channel.slice(0, channel.indexOf(' '))}`)
  else if (released === 0) args.push(`${wide(fast)} ${channel}`, text)
  else args.push(`m${wide(packTtl(ttlMs, released))}${wide(fast)} ${channel}`, text)
  for (const { claim } of requests) args.push(claim.id)
  return args
}

/** Returns a number as a text of 16 characters, as long as that of the largest safe integer. */
function wide(number: number | undefined): string {
  return String(number).padStart(16)
}

/** Counts how many requests from `start` on have this verb and equal terms, for `alikeArgs`. */
function countAlike(requests: readonly BatchRequest[], start: number, verb: Verb): number {
  const terms = requests[start]?.terms
  if (terms?.fast === undefined) return 0
  let end = start
  for (; end < requests.length; end += 1) {
    const next = requests[end] as BatchRequest
    if (next.verb !== verb || (next.terms !== terms && next.terms.text !== terms.text)) break
  }
  return end - start
}

/** Returns the arguments for requests of any kind. */
function anyArgs(channel: string, requests: readonly BatchRequest[]): string[] {
  const texts: string[] = []
  const list: (string | number)[] = []
  for (const { verb, terms, claim } of requests) {
    // Nearly always all of them have one or two.
    let index = texts.indexOf(terms.text)
    if (index < 0) index = texts.push(terms.text) - 1
    list.push(verb, index, claim.id)
  }
  return [`j ${channel}`, JSON.stringify(list), ...texts]
}
