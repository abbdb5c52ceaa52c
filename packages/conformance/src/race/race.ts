/**
 * Races of two verbs on one lock. The verbs run one after the other in both orders, and then beside
 * each other. The third result must equal that of one of the two orders on the same store.
 */
import assert from 'node:assert/strict'
import { isLockError } from 'holdfast'
import type { AttemptResult, Claim, MaybePromise, Renewal, Store } from 'holdfast/store'
import type { Context } from '../context.js'

/** A claim of a scene, and the client that acts for it. */
export interface Party {
  readonly label: string
  readonly claim: Claim
  readonly store: Store
  /** Whether it waits at first, so that an attempt shows what has become of it. */
  readonly waits?: boolean
}

/** A lock at the start of a race. */
export interface Scene {
  /** The claim on which the verbs act. */
  readonly claim: Claim
  readonly token: bigint
  /** All claims on the lock. Adoptions add theirs. */
  readonly parties: Party[]
}

/** A verb of a race, done by one client. */
export interface Act {
  readonly name: string
  /** Whether it ends the lease of the lock's holder, with any claim. */
  readonly endsLease?: boolean
  /**
   * Resolves to the outcome, as far as the order decides it.
   *
   * @param label names the claims that the act adds
   */
  run(scene: Scene, label: string): MaybePromise<string>
}

export interface Race {
  readonly title: string
  readonly acts: readonly [Act, Act]
  makeScene(): Promise<Scene>
}

/** How often a verb whose outcome is unknown is repeated, as the runtime does it. */
const TRIES = 10
const LABELS = ['one', 'other'] as const

/** What the acts of a race come to one after the other. */
export interface Expected {
  readonly results: readonly Result[]
  /** How long each act took, in milliseconds. */
  readonly tookMs: readonly number[]
}

export async function expectedOf(context: Context, race: Race): Promise<Expected> {
  const { result, tookMs } = await inOrder(context, race, [0, 1])
  const backwards = await inOrder(context, race, [1, 0])
  return { results: [result, backwards.result], tookMs }
}

/** Runs a race. Fails when it comes to something that neither order comes to. */
export async function checkRace(
  context: Context,
  race: Race,
  { results, tookMs }: Expected,
): Promise<void> {
  const { random } = context
  const scene = await race.makeScene()
  // The later act begins while the earlier one is on its way.
  const first = random.next() < 0.5 ? 0 : 1
  const delayMs = random.next() * (tookMs[first] ?? 0)
  const outcomes = await Promise.all(
    race.acts.map(async (act, index) => {
      if (index !== first) await pause(context, delayMs)
      return run(act, scene, index)
    }),
  )
  const result = await resultOf(context, scene, outcomes)
  const { atomicVerbs = true } = context.subject
  assert.ok(
    atomicVerbs ? isOneOf(result, results) : isPartOf(result, results),
    `${race.title} came to ${textOf(result)}. One after the other: ${results.map(textOf).join(', or ')}.`,
  )
}

/** What the caller of each act learned, and what the lock is after both. */
interface Result {
  readonly outcomes: readonly string[]
  readonly state: string
}

/** Outcomes that a caller relies on. */
const GOOD = new Set(['granted', 'renewed', 'released', 'true'])

function isOneOf(result: Result, results: readonly Result[]): boolean {
  return results.some((one) => textOf(one) === textOf(result))
}

/** Whether each good outcome belongs to what the lock is now, as in one of the orders. */
function isPartOf({ outcomes, state }: Result, results: readonly Result[]): boolean {
  const alike = results.filter((one) => one.state === state)
  return outcomes.every(
    (outcome, index) => !GOOD.has(outcome) || alike.some((one) => one.outcomes[index] === outcome),
  )
}

function textOf({ outcomes, state }: Result): string {
  return `${outcomes.join(' and ')}: ${state}`
}

async function inOrder(
  context: Context,
  race: Race,
  order: readonly number[],
): Promise<{ readonly result: Result; readonly tookMs: readonly number[] }> {
  const scene = await race.makeScene()
  const outcomes: string[] = []
  const tookMs: number[] = []
  for (const index of order) {
    const startMs = performance.now()
    outcomes[index] = await run(race.acts[index] as Act, scene, index)
    tookMs[index] = performance.now() - startMs
  }
  return { result: await resultOf(context, scene, outcomes), tookMs }
}

function run(act: Act, scene: Scene, index: number): Promise<string> {
  return answerOf(() => act.run(scene, LABELS[index] ?? ''))
}

/** Returns the answer of a verb, which is repeated while its outcome is unknown. */
export async function answerOf<T>(verb: () => MaybePromise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await verb()
    } catch (error) {
      const isUnknown = isLockError(error) && error.code === 'STORE_UNAVAILABLE'
      if (!isUnknown || tries === TRIES) throw error
    }
  }
}

/** Looks at the lock after a race, and ends all its claims. */
async function resultOf(
  context: Context,
  { claim, parties }: Scene,
  outcomes: readonly string[],
): Promise<Result> {
  const { lock } = claim
  const { store } = context
  const shown = (await answerOf(() => context.inspect(lock)))?.holders ?? []
  const holders = shown.map(
    ({ claimId }) => parties.find((party) => party.claim.id === claimId)?.label,
  )
  const next = { ...claim, id: context.random.id() }
  const options = { enqueue: false, tokens: 1 }
  const third = (await answerOf(() => store.attempt(next, options))).outcome
  const shownIds = new Set(shown.map(({ claimId }) => claimId))
  const states = await Promise.all(parties.map((party) => stateOf(context, party, shownIds)))
  const held = states.filter(({ isHeld }) => isHeld).map(({ text }) => text)
  const texts = states.map(({ text }) => text).sort()
  const state = `${texts.join(', ')}; shown: ${holders.join()}; next: ${third}`
  const result = { outcomes, state }
  assert.ok(held.length + (third === 'granted' ? 1 : 0) <= 1, `two holders after ${textOf(result)}`)
  await Promise.all([
    third === 'granted' ? answerOf(() => store.withdraw(next)) : undefined,
    ...parties.map((party) => answerOf(() => party.store.withdraw(party.claim))),
  ])
  return result
}

async function stateOf(
  context: Context,
  { label, claim, store, waits }: Party,
  shown: ReadonlySet<string>,
): Promise<{ text: string; isHeld: boolean }> {
  if (waits === true) {
    let { outcome } = await attempt(store, claim)
    // A member of an ensemble may not know yet that the claim is in front: it is asked again.
    for (let tries = 1; outcome === 'waiting' && shown.has(claim.id) && tries < TRIES; tries += 1) {
      await pause(context, LONGEST_PAUSE_MS)
      ;({ outcome } = await attempt(store, claim))
    }
    return { text: `${label} ${outcome}`, isHeld: outcome === 'granted' }
  }
  const outcome = await answerOf(() => renew(store, claim))
  return { text: `${label} ${outcome}`, isHeld: outcome === 'renewed' }
}

function attempt(store: Store, claim: Claim): Promise<AttemptResult> {
  return answerOf(() => store.attempt(claim, { enqueue: true, tokens: 1 }))
}

/** Renews a claim. Rejects when the outcome is unknown. */
export async function renew(store: Store, renewal: Renewal): Promise<string> {
  const [result] = await store.renew([renewal])
  if (result?.outcome === 'unknown') throw result.cause
  return result?.outcome ?? 'nothing'
}

/** The longest that one act waits for the other, in milliseconds. */
const LONGEST_PAUSE_MS = 20

/** Waits, also for less than a timer can. */
async function pause({ subject }: Context, ms: number): Promise<void> {
  if (subject.clock) return
  const untilMs = performance.now() + Math.min(ms, LONGEST_PAUSE_MS)
  while (performance.now() < untilMs) await new Promise((resolve) => void setImmediate(resolve))
}
