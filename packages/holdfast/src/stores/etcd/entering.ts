/**
 * Entering a queue in one transaction: it refuses a claim that was withdrawn or has another shape, makes the entry on the
 * session that fits, and reads what stands before it.
 */
import { StoreUnavailableError } from '../../errors.js'
import type { Claim } from '../../store/contract.js'
import { decodeEntry, encodeEntry, type EntryData } from '../sequenced/entry.js'
import type { EnterResult, EnterSessions, Place } from '../sequenced/port.js'
import { mayGo } from '../sequenced/queue-rule.js'
import { isLeaseGone } from './failures.js'
import { entryKey, goneKey, otherShapes, queueOf, rivals } from './keys.js'
import type { EtcdSession } from './leases.js'
import { op, txn, when, type KeyValue, type Txn, type TxnAnswer } from './messages.js'
import { asPlaces, beforeOperation } from './standing.js'

type Run = (request: Txn) => Promise<TxnAnswer>

/** The queue changes under an attempt now and then; that often it does not. */
const TRIES = 10

export async function enter(
  run: Run,
  claim: Claim,
  data: EntryData,
  sessions: EnterSessions<EtcdSession>,
): Promise<EnterResult> {
  try {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const result = await tryToEnter(run, claim, data, sessions)
      if (result) return result
    }
  } catch (error) {
    if (isLeaseGone(error)) return { outcome: 'no-session' }
    throw error
  }
  throw new StoreUnavailableError(`The queue of "${claim.lock}" changed ${TRIES} times during one attempt.`, {
    lock: claim.lock,
    store: 'etcd',
  })
}

/** Undefined when the queue changed meanwhile. */
async function tryToEnter(
  run: Run,
  claim: Claim,
  data: EntryData,
  sessions: EnterSessions<EtcdSession>,
): Promise<EnterResult | undefined> {
  const key = entryKey(claim)
  const value = encodeEntry(data)
  const { holder, waiter } = sessions
  const rival = rivals(claim.lock, claim)
  const answer = await run({
    when: sound(claim),
    then: [
      // Read before it is written: what is found is what stands before.
      beforeOperation(claim.lock, claim),
      op.txn(
        txn({
          when: [when.empty(rival.key, rival.end)],
          then: [op.put(key, value, holder.lease)],
          otherwise: waiter ? [op.put(key, value, waiter.lease)] : [],
        }),
      ),
    ],
    otherwise: refusalOperations(claim),
  })
  if (!answer.succeeded) return refusal(run, claim, value, sessions, answer)
  const [range, made] = answer.answers
  const before = asPlaces(range?.found ?? [])
  const wasFree = made?.inner?.succeeded === true
  if (wasFree || waiter) return entered(claim, answer.revision, before, !wasFree)
  if (!mayGo(claim, before)) return { outcome: 'busy' }
  return enterBeside(run, claim, value, holder, { before, moment: answer.revision })
}

/** What has to be so for a claim to enter: it is new, nobody withdrew it, and all others have its shape. */
function sound(claim: Claim): Buffer[] {
  const shapes = otherShapes(claim.lock, claim)
  return [
    when.absent(entryKey(claim)),
    when.absent(goneKey(claim)),
    ...shapes.map(({ key, end }) => when.empty(key, end)),
  ]
}

/** Enters beside others without queueing: only if nobody has come since they were seen to leave room. */
async function enterBeside(
  run: Run,
  claim: Claim,
  value: string,
  holder: EtcdSession,
  seen: { before: readonly Place[]; moment: bigint },
): Promise<EnterResult | undefined> {
  const { key, end } = queueOf(claim.lock)
  const { succeeded, revision } = await run({
    when: [...sound(claim), when.allOlder(key, end, seen.moment + 1n)],
    then: [op.put(entryKey(claim), value, holder.lease)],
  })
  return succeeded ? entered(claim, revision, seen.before, false) : undefined
}

function refusalOperations(claim: Claim): Buffer[] {
  const others = otherShapes(claim.lock, claim)
  return [
    op.range(entryKey(claim)),
    op.range(goneKey(claim)),
    ...others.map(({ key, end }) => op.range(key, { end, limit: 1 })),
  ]
}

async function refusal(
  run: Run,
  claim: Claim,
  value: string,
  sessions: EnterSessions<EtcdSession>,
  { answers }: TxnAnswer,
): Promise<EnterResult | undefined> {
  const [own, gone, ...others] = answers.map(({ found }) => found[0])
  if (gone) return { outcome: 'withdrawn' }
  if (own) return reenter(run, claim, value, sessions, own)
  for (const other of others) {
    const data = other && decodeEntry(other.value.toString())
    if (data) return { outcome: 'mismatch', kind: data.kind, capacity: data.capacity }
  }
  return undefined
}

/** An earlier request made the entry, and its answer was lost. It keeps its place, on a session that is alive for certain. */
async function reenter(
  run: Run,
  claim: Claim,
  value: string,
  { holder, waiter }: EnterSessions<EtcdSession>,
  own: KeyValue,
): Promise<EnterResult | undefined> {
  const session = waiter && own.lease === waiter.lease ? waiter : holder
  const { succeeded, answers, revision } = await run({
    when: [when.unchanged(own.key, own.modRevision)],
    then: [beforeOperation(claim.lock, claim, own.createRevision), op.put(own.key, value, session.lease)],
  })
  if (!succeeded) return undefined
  const before = asPlaces(answers[0]?.found ?? [])
  return {
    ...entered(claim, own.createRevision, before, session === waiter),
    version: revision,
    moment: revision,
  }
}

function entered(
  claim: Claim,
  revision: bigint,
  before: readonly Place[],
  onWaiterSession: boolean,
): Extract<EnterResult, { outcome: 'entered' }> {
  const { lock, id } = claim
  return {
    outcome: 'entered',
    entry: { lock, id, key: entryKey(claim), number: revision },
    version: revision,
    before,
    moment: revision,
    onWaiterSession,
  }
}
