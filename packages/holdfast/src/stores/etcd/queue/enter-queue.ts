/**
 * Enters a queue in one transaction. The transaction refuses a claim that was withdrawn or is of
 * another kind. It makes the entry on the session that fits, and reads the predecessors.
 */
import { StoreUnavailableError } from '../../../errors.js'
import type { Claim } from '../../../store/contract.js'
import type { EntryData } from '../../coordination/wire.js'
import type {
  Entry,
  EnterResult,
  EnterSessions,
  QueuePosition,
} from '../../coordination/connection/service.js'
import { mayGo, wantsAll } from '../../coordination/queue/queue-rule.js'
import type { EntryKeys } from './entry-keys.js'
import { isLeaseGone } from '../errors.js'
import type { Keys } from '../keys.js'
import type { EtcdSession } from '../session.js'
import { op, txn, when, type KeyValue, type Txn, type TxnAnswer } from '../wire/messages.js'
import { beforeOperations, positionFrom } from './queue-position.js'
import { decodeValue, encodeValue } from '../wire/values.js'

type Run = (request: Txn) => Promise<TxnAnswer>

/** The entry that is to be made. */
interface Planned {
  readonly keys: Keys
  readonly claim: Claim
  readonly key: string
  readonly value: string
  /** Whether it is likely to fit beside others, so that it need not look before it enters. */
  readonly mayFit: boolean
}

/** What an attempt of many waiters of one client is made with. */
export interface Crowd {
  /**
   * Reads what stands before an entry that was just made, for all entries that were made at the
   * same time.
   */
  before(entry: Entry, claim: Claim): Promise<QueuePosition | undefined>
}

/** Where the queue stands, and what this client knows of it before it enters. */
export interface EnterContext {
  readonly keys: Keys
  readonly entryKeys: Pick<EntryKeys, 'take' | 'exchange'>
  /** Present when many claims of this client wait there. */
  readonly crowd: Crowd | undefined
  /** Whether its last claim did not fit. */
  readonly isFull: boolean
}

/** The queue changes under an attempt now and then; that often it does not. */
const TRIES = 10

export async function enter(
  run: Run,
  claim: Claim,
  data: EntryData,
  sessions: EnterSessions<EtcdSession>,
  { keys, entryKeys, crowd, isFull }: EnterContext,
): Promise<EnterResult> {
  // A heavier claim that does not fit leaves room: its entry would refuse others for a moment.
  const mayFit = claim.kind === 'semaphore' && claim.weight === 1 && !wantsAll(claim) && !isFull
  const value = encodeValue(data, claim.id)
  let key = entryKeys.take(claim)
  try {
    for (let tries = 0; tries < TRIES;) {
      const planned = { keys, claim, key, value, mayFit }
      const result = await (crowd && sessions.waiter
        ? tryToJoin(run, planned, { ...sessions, waiter: sessions.waiter }, crowd)
        : tryToEnter(run, planned, sessions))
      if (result === OCCUPIED) key = entryKeys.exchange(claim)
      else if (result) return checked(claim, sessions, result)
      else tries += 1
    }
  } catch (error) {
    if (isLeaseGone(error)) return { outcome: 'no-session' }
    throw error
  }
  throw new StoreUnavailableError(
    `The queue of "${claim.lock}" changed ${TRIES} times during one attempt.`,
    {
      lock: claim.lock,
      store: 'etcd',
    },
  )
}

/** An entry that was made to find out whether it fits leaves again if it does not. */
function checked(
  claim: Claim,
  { waiter }: EnterSessions<EtcdSession>,
  result: EnterResult,
): EnterResult {
  const fits = result.outcome !== 'entered' || mayGo(claim, result)
  return fits || waiter ? result : { ...result, mustLeave: true }
}

/** Another claim's entry stands under the key. */
const OCCUPIED = 'occupied'
/** Undefined when the queue changed meanwhile. */
type TryResult = EnterResult | typeof OCCUPIED | undefined

async function tryToEnter(
  run: Run,
  planned: Planned,
  sessions: EnterSessions<EtcdSession>,
): Promise<TryResult> {
  const { keys, claim, key, value, mayFit } = planned
  const { holder, waiter } = sessions
  const beside = waiter ?? (mayFit ? holder : undefined)
  const rival = keys.rivals(claim.lock, claim)
  const answer = await run({
    when: sound(planned),
    then: [
      // Read before it is written: what is found is what stands before.
      ...beforeOperations(planned.keys, claim.lock, claim),
      op.txn(
        txn({
          when: [when.empty(rival.key, rival.end)],
          then: [op.put(key, value, holder.lease)],
          otherwise: beside ? [op.put(key, value, beside.lease)] : [],
        }),
      ),
    ],
    otherwise: refusalOperations(planned),
  })
  if (!answer.succeeded) return refusal(run, planned, sessions, answer)
  const before = positionFrom(
    claim,
    answer.answers.slice(0, -1).map(({ found }) => found),
  )
  const wasFree = answer.answers.at(-1)?.inner?.succeeded === true
  if (wasFree || beside)
    return entered(planned, answer.revision, before, !wasFree && beside === waiter)
  if (!mayGo(claim, before)) return { outcome: 'busy' }
  return enterBeside(run, planned, sessions)
}

const BEHIND_MANY = { before: [], weight: Infinity }

/**
 * Enters behind many others of this client, without reading the queue in the same step: etcd would
 * pass all of it each time. It is read once for all that have entered meanwhile.
 */
async function tryToJoin(
  run: Run,
  planned: Planned,
  sessions: EnterSessions<EtcdSession> & { readonly waiter: EtcdSession },
  crowd: Crowd,
): Promise<TryResult> {
  const { claim, key, value } = planned
  const answer = await run({
    when: sound(planned),
    then: [op.put(key, value, sessions.waiter.lease)],
    otherwise: refusalOperations(planned),
  })
  if (!answer.succeeded) return refusal(run, planned, sessions, answer)
  const { lock, id } = claim
  const entry = { lock, id, key, number: answer.revision }
  const later = crowd.before(entry, claim)
  // A claim that gives up before it is watched does not ask how the read ended.
  later.catch(() => undefined)
  return { ...entered(planned, answer.revision, BEHIND_MANY, true), later }
}

/**
 * The conditions for a claim to enter: it is new, it was not withdrawn, and the other claims have
 * its kind and capacity.
 */
function sound({ keys, claim, key }: Planned): Buffer[] {
  const shapes = keys.otherShapes(claim.lock, claim)
  return [
    when.absent(key),
    when.absent(keys.goneKey(claim)),
    ...shapes.map((shape) => when.empty(shape.key, shape.end)),
  ]
}

/**
 * Enters beside others that were seen to leave room. Other claims may have come since, so what
 * stands before it is read in the same step.
 */
async function enterBeside(
  run: Run,
  planned: Planned,
  sessions: EnterSessions<EtcdSession>,
): Promise<TryResult> {
  const { claim, key, value } = planned
  const answer = await run({
    when: sound(planned),
    then: [
      ...beforeOperations(planned.keys, claim.lock, claim),
      op.put(key, value, sessions.holder.lease),
    ],
    otherwise: refusalOperations(planned),
  })
  if (!answer.succeeded) return refusal(run, planned, sessions, answer)
  const before = positionFrom(
    claim,
    answer.answers.slice(0, -1).map(({ found }) => found),
  )
  return entered(planned, answer.revision, before, false)
}

function refusalOperations({ keys, claim, key }: Planned): Buffer[] {
  const others = keys.otherShapes(claim.lock, claim)
  return [
    op.range(key),
    op.range(keys.goneKey(claim)),
    ...others.map((shape) => op.range(shape.key, { end: shape.end, limit: 1 })),
  ]
}

async function refusal(
  run: Run,
  planned: Planned,
  sessions: EnterSessions<EtcdSession>,
  { answers }: TxnAnswer,
): Promise<TryResult> {
  const [own, gone, ...others] = answers.map(({ found }) => found[0])
  if (gone) return { outcome: 'withdrawn' }
  // This client's alone, unless it was exported: then any claim may have adopted it.
  if (own && decodeValue(own.value)?.id !== planned.claim.id) return OCCUPIED
  if (own) return reenter(run, planned, sessions, own)
  for (const other of others) {
    const data = other && decodeValue(other.value)?.data
    if (data) return { outcome: 'mismatch', kind: data.kind, capacity: data.capacity }
  }
  return undefined
}

/**
 * An earlier request made the entry, and its answer was lost. It keeps its place, on a session that
 * is alive for certain.
 */
async function reenter(
  run: Run,
  planned: Planned,
  { holder, waiter }: EnterSessions<EtcdSession>,
  own: KeyValue,
): Promise<EnterResult | undefined> {
  const { claim, value } = planned
  const session = waiter && own.lease === waiter.lease ? waiter : holder
  const { succeeded, answers, revision } = await run({
    when: [when.unchanged(own.key, own.modRevision)],
    then: [
      ...beforeOperations(planned.keys, claim.lock, claim, own.createRevision),
      op.put(own.key, value, session.lease),
    ],
  })
  if (!succeeded) return undefined
  const before = positionFrom(
    claim,
    answers.slice(0, -1).map(({ found }) => found),
  )
  return {
    ...entered(planned, own.createRevision, before, session === waiter),
    version: revision,
    moment: revision,
  }
}

function entered(
  { claim, key }: Planned,
  revision: bigint,
  { before, weight }: Omit<QueuePosition, 'moment'>,
  onWaiterSession: boolean,
): Extract<EnterResult, { outcome: 'entered' }> {
  const { lock, id } = claim
  return {
    outcome: 'entered',
    entry: { lock, id, key, number: revision },
    version: revision,
    before,
    weight,
    moment: revision,
    onWaiterSession,
  }
}
