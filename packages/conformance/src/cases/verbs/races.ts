/** Races: each pair of verbs on one claim comes to what the verbs come to one after the other. */
import { CAPACITY_ALL, type Claim, type Store } from 'holdfast/store'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { expectOutcome } from '../../expect.js'
import { adopt, queue } from '../../needs.js'
import { actsOf } from '../../race/acts.js'
import {
  answerOf,
  checkRace,
  expectedOf,
  type Act,
  type Expected,
  type Party,
  type Race,
  type Scene,
} from '../../race/race.js'

export const races = new Group('races')

/** How many races run at the same time. */
const AT_ONCE = 6
const LIMIT_MS = 600_000

/**
 * Every pair of acts, an act beside itself included. No pair has two acts that end a lease: a theft
 * counts the leases that it has found. So two thefts may count the same one, and none need end a
 * lease that came meanwhile.
 *
 * @param others the same acts, by the client that races
 */
function pairs(acts: readonly RaceAct[], others = acts): (readonly [Act, Act])[] {
  return acts.flatMap((one, index) =>
    others
      .slice(index)
      .flatMap((other) =>
        one && other && !(one.endsLease && other.endsLease) ? [[one, other] as const] : [],
      ),
  )
}

type RaceAct = Act | undefined

async function runAll(context: Context, all: readonly Race[]): Promise<void> {
  const { races: count = all.length, clock } = context.subject
  const expected = new Map<Race, Promise<Expected>>()
  const drawn: Race[] = []
  const runSome = async (): Promise<void> => {
    for (let race = drawn.pop(); race; race = drawn.pop()) {
      const known = expected.get(race) ?? expectedOf(context, race)
      expected.set(race, known)
      await checkRace(context, race, await known)
    }
  }
  while (drawn.length < count) drawn.push(...shuffled(context, all).slice(0, count - drawn.length))
  await Promise.all(Array.from({ length: clock ? 1 : AT_ONCE }, runSome))
}

function shuffled<T>({ random }: Context, items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, place: random.next() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item)
}

/** Makes claims of a lock of their own, which the race ends. */
function newLock(context: Context): () => Claim {
  const isReaders = context.store.traits.kinds.includes('readWriteLock')
  const lock = context.name(`race-${context.random.id()}`)
  const template: Claim = {
    lock,
    id: '',
    kind: isReaders ? 'readWriteLock' : 'mutex',
    capacity: CAPACITY_ALL,
    weight: CAPACITY_ALL,
    ttlMs: context.longMs,
    heartbeatMs: context.longMs / 3,
    owner: { clientId: 'race', host: 'conformance', pid: process.pid },
  }
  return () => ({ ...template, id: context.random.id() })
}

/** Takes a lock. */
async function held(context: Context, owner: Store): Promise<Scene & { newClaim: () => Claim }> {
  const newClaim = newLock(context)
  const claim = newClaim()
  const result = await answerOf(() => owner.attempt(claim, { enqueue: true, tokens: 1 }))
  const { token } = expectOutcome(result, 'granted')
  return { claim, token, parties: [{ label: 'holder', claim, store: owner }], newClaim }
}

races.test(
  'two verbs on a held claim come to what they come to one after the other',
  async (context) => {
    const [owner, thief] = [await context.open(), await context.open()]
    const own = actsOf(context, owner, 'the holder')
    const strange = actsOf(context, thief, 'another client')
    const acts = [
      ...[own.attempt, own.renew, own.note, own.withdraw, own.downgrade, own.export],
      ...[strange.withdraw, strange.adopt, strange.steal, strange.stealNow],
    ]
    const all = pairs(acts).map((pair): Race => ({
      title: `${pair[0].name} beside ${pair[1].name}, of a held claim,`,
      acts: pair,
      makeScene: () => held(context, owner),
    }))
    await runAll(context, all)
  },
  { limitMs: LIMIT_MS },
)

/** Takes a lock and exports it. */
async function exported(context: Context, owner: Store): Promise<Scene> {
  const { claim: from, token, newClaim } = await held(context, owner)
  const claim = newClaim()
  await answerOf(() => owner.adopt?.({ from, token, to: claim, detached: true }))
  return { claim, token, parties: [{ label: 'exported', claim, store: owner }] }
}

races.test(
  'two verbs on an exported claim come to what they come to one after the other',
  async (context) => {
    const [owner, one, other] = [await context.open(), await context.open(), await context.open()]
    const verbs = (store: Store, who: string): readonly RaceAct[] => {
      const acts = actsOf(context, store, who)
      return [
        ...[acts.renew, acts.note, acts.withdraw, acts.downgrade],
        ...[acts.export, acts.adopt, acts.steal, acts.stealNow],
      ]
    }
    const acts = verbs(one, 'a client')
    const all = [...pairs(acts), ...pairs(acts, verbs(other, 'another client'))].map(
      (pair): Race => ({
        title: `${pair[0].name} beside ${pair[1].name}, of an exported claim,`,
        acts: pair,
        makeScene: () => exported(context, owner),
      }),
    )
    await runAll(context, all)
  },
  { needs: [adopt], limitMs: LIMIT_MS },
)

/** Takes a lock, and lets a claim wait for it. */
async function awaited(context: Context, owner: Store, waiting: Store): Promise<Scene> {
  const { token, parties, newClaim } = await held(context, owner)
  const claim = newClaim()
  const result = await answerOf(() => waiting.attempt(claim, { enqueue: true, tokens: 1 }))
  expectOutcome(result, 'waiting')
  const waiter: Party = { label: 'waiter', claim, store: waiting, waits: true }
  return { claim, token, parties: [...parties, waiter] }
}

races.test(
  'two verbs on a claim that waits come to what they come to one after the other',
  async (context) => {
    const [owner, waiting, thief] = [
      await context.open(),
      await context.open(),
      await context.open(),
    ]
    const own = actsOf(context, waiting, 'the waiter')
    const strange = actsOf(context, thief, 'another client')
    const release: Act = {
      name: 'a release by the holder',
      endsLease: true,
      run: ({ parties: [holder] }) => owner.withdraw((holder as Party).claim),
    }
    const acts = [
      own.attempt,
      own.withdraw,
      release,
      strange.withdraw,
      strange.steal,
      strange.stealNow,
    ]
    const all = pairs(acts).map((pair): Race => ({
      title: `${pair[0].name} beside ${pair[1].name}, of a claim that waits,`,
      acts: pair,
      makeScene: () => awaited(context, owner, waiting),
    }))
    await runAll(context, all)
  },
  { needs: [queue], limitMs: LIMIT_MS },
)
