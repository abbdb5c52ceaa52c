/**
 * Micro-batching: the attempts, renewals and withdrawals of one tick travel as one script call. In
 * a Cluster each lock has a call of its own, since a script there may only touch keys of one slot.
 * These leave together, and those for one member travel together.
 *
 * Withdrawals go first, since they make room. An attempt that was made in the same tick as its own
 * withdrawal then finds itself withdrawn, which is as good an answer as any. Each request has a
 * result of its own.
 */
import { TickQueue } from '../../collections/tick-queue.js'
import { invariant } from '../../invariant.js'
import { textOf } from './answers.js'
import type { ClaimRef } from '../../store/contract.js'
import type { RunScript } from './deployment.js'
import { explain } from './errors.js'
import { keyOf } from './keys.js'
import type { Subscriptions } from './grant-inbox.js'
import { applyBatch } from './scripts.generated.js'
import type { EncodedTerms } from './terms-encoder.js'

/** `a`: attempt, `r`: renew, `w`: withdraw, `t`: retract, `s`: seal. */
export type Verb = 'a' | 'r' | 'w' | 't' | 's'

export interface BatchRequest {
  readonly verb: Verb
  readonly claim: ClaimRef
  /** What the script needs besides the claim's id. Requests with equal terms share them. */
  readonly terms: EncodedTerms
  answered(line: string): void
  failed(error: unknown): void
}

/**
 * A call leaves as soon as it has this many requests: the server works on it while this tick is
 * still running.
 */
const LARGEST_BATCH = 32

export interface BatchSettings {
  /** Stands before every key. */
  readonly prefix: string
  /** Whether a call may only concern the keys of one lock. */
  readonly oneLockACall: boolean
  /** Where grants for waiters of this client are published. */
  readonly subscriptions: Pick<Subscriptions, 'publishTo'>
  readonly atTickEnd: (work: () => void) => void
  /** Calls when what was sent in this tick has left the process. */
  readonly afterTick: (work: () => void) => void
  readonly run: RunScript
}

/** Returns a queue whose requests leave together when their tick ends. */
export function batchQueue(settings: BatchSettings): TickQueue<BatchRequest> {
  const sender = new BatchSender(settings)
  return new TickQueue(sender.send.bind(sender), settings.atTickEnd, LARGEST_BATCH)
}

class BatchSender {
  readonly #settings: BatchSettings

  constructor(settings: BatchSettings) {
    this.#settings = settings
  }

  send(requests: readonly BatchRequest[]): void {
    const [first] = requests as readonly [BatchRequest]
    if (requests.length === 1) {
      void this.#sendOne(first)
      return
    }
    let withdrawals = 0
    for (const { verb } of requests) if (verb === 'w') withdrawals += 1
    if (withdrawals === 0 || withdrawals === requests.length) this.#sendAll(requests)
    else this.#sendMixed(requests)
  }

  /**
   * An attempt for a lock that this client releases in the same tick queues behind the other
   * waiters. So it can leave after this tick, and the next holder learns of its grant earlier: the
   * server publishes only when it has done everything that it was sent.
   */
  #sendMixed(requests: readonly BatchRequest[]): void {
    const withdrawals = requests.filter(({ verb }) => verb === 'w')
    const freed = new Set(withdrawals.map(({ claim }) => claim.lock))
    const [now, later]: [BatchRequest[], BatchRequest[]] = [withdrawals, []]
    for (const request of requests) {
      if (request.verb === 'w') continue
      if (request.verb === 'a' && freed.has(request.claim.lock)) later.push(request)
      else now.push(request)
    }
    this.#sendAll(now)
    if (later.length > 0) this.#settings.afterTick(() => this.#sendAll(later))
  }

  #sendAll(requests: readonly BatchRequest[]): void {
    const [first] = requests as readonly [BatchRequest]
    if (requests.length === 1) void this.#sendOne(first)
    else if (!this.#settings.oneLockACall) this.#sendTogether(requests)
    else for (const group of byLock(requests)) this.#sendTogether(group)
  }

  /** Without JSON: a text to decode would be most of what one request costs the script. */
  async #sendOne(request: BatchRequest): Promise<void> {
    const { verb, terms, claim } = request
    const { prefix, subscriptions, run } = this.#settings
    const key = keyOf(prefix, claim.lock)
    const publishTo = subscriptions.publishTo(claim.lock)
    let reply: unknown
    try {
      reply = await run(
        applyBatch,
        [key],
        [publishTo, verb, terms.text, claim.id, ...terms.fastArgs],
      )
    } catch (error) {
      request.failed(explain(error, claim.lock))
      return
    }
    answer(request, reply)
  }

  #sendTogether(requests: readonly BatchRequest[]): void {
    const [first] = requests as readonly [BatchRequest]
    const { prefix, subscriptions, run } = this.#settings
    const keys = requests.map(({ claim }) => keyOf(prefix, claim.lock))
    run(applyBatch, keys, [subscriptions.publishTo(first.claim.lock), ...payloadOf(requests)])
      .then((reply) => distribute(requests, textOf(reply).split('\n')))
      .catch((error: unknown) => {
        for (const request of requests) request.failed(explain(error, request.claim.lock))
      })
  }
}

function byLock(requests: readonly BatchRequest[]): Iterable<readonly BatchRequest[]> {
  const groups = new Map<string, BatchRequest[]>()
  for (const request of requests) {
    const { lock } = request.claim
    const group = groups.get(lock)
    if (group) group.push(request)
    else groups.set(lock, [request])
  }
  return groups.values()
}

/** Which request has which verb and terms, and then the terms. */
function payloadOf(requests: readonly BatchRequest[]): string[] {
  const texts: string[] = []
  const list: (string | number)[] = []
  for (const { verb, terms, claim } of requests) {
    // Nearly always all of them have one or two.
    let index = texts.indexOf(terms.text)
    if (index < 0) index = texts.push(terms.text) - 1
    list.push(verb, index, claim.id)
  }
  return [JSON.stringify(list), ...texts]
}

function distribute(requests: readonly BatchRequest[], lines: readonly string[]): void {
  invariant(lines.length === requests.length, 'a script answers each request of its call')
  let index = 0
  for (const request of requests) answer(request, lines[index++])
}

function answer(request: BatchRequest, reply: unknown): void {
  try {
    const line = typeof reply === 'string' ? reply : textOf(reply)
    if (line.startsWith('e ')) request.failed(explain(new Error(line.slice(2)), request.claim.lock))
    else request.answered(line)
  } catch (error) {
    request.failed(explain(error, request.claim.lock))
  }
}
