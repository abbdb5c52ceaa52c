/** Locks that one client holds again and again: it need not list their queues. */
import type { Claim, Store } from 'holdfast/store'
import { SeededRandom } from 'holdfast/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startZooKeeper, type ZooKeeperEnsemble } from '@holdfast/servers/zookeeper'
import { parentOf } from '../../dist/stores/zookeeper/keys.js'
import { OwnTurns } from '../../dist/stores/zookeeper/queue/own-turns.js'
import { removeNode } from '../../dist/stores/zookeeper/queue/tree.js'
import type { ZooKeeperSession } from '../../dist/stores/zookeeper/session/session.js'
import * as world from './support/world.js'
import { makeClaim, openProxy, openRaw, QUEUE, TRY } from './support/world.js'

/** Signs of life, one each half tick, stay out of what is counted. */
const QUIET = { tickMs: 20_000 }
const [REMOVE, LIST, CREATE] = [2, 12, 15]
const SEEDS = 40

let ensemble: ZooKeeperEnsemble
let raw: ZooKeeperSession

beforeAll(async () => {
  ensemble = await startZooKeeper()
  raw = await openRaw(ensemble.connect)
})
afterAll(async () => {
  await raw.end()
  await ensemble.stop()
})

const openStore = (connect = ensemble.connect): Store => world.openStore({ connect, ...QUIET })

async function hold(store: Store, lock: string): Promise<Claim> {
  const claim = makeClaim(lock)
  expect(await store.attempt(claim, QUEUE)).toMatchObject({ outcome: 'granted' })
  return claim
}

/** Holds a lock some times, one after the other. */
async function takeTurns(store: Store, lock: string, turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    expect(await store.withdraw(await hold(store, lock))).toBe('released')
  }
}

/** The codes of the requests that a store sends while something runs. */
async function requestsOf(work: (store: Store) => Promise<void>): Promise<number[]> {
  const { proxy, connect } = await openProxy(ensemble.ports[0])
  const codes: number[] = []
  const store = openStore(connect)
  await hold(store, `warm ${proxy.port}`)
  proxy.onRequest = (bytes) => {
    for (let at = 0; at < bytes.length; at += 4 + bytes.readInt32BE(at))
      codes.push(bytes.readInt32BE(at + 8))
  }
  await work(store)
  return codes
}

test('from the third turn on a pair is one request to enter and one to leave', async () => {
  await takeTurns(openStore(), 'alone', 1)
  const codes = await requestsOf((store) => takeTurns(store, 'alone', 4))
  const listed = [CREATE, LIST, REMOVE]
  expect(codes).toEqual([...listed, ...listed, CREATE, REMOVE, CREATE, REMOVE])
})

test('after a claim of another client the queue is listed, once after the entry', async () => {
  const other = openStore()
  const codes = await requestsOf(async (store) => {
    await takeTurns(store, 'shared', 3)
    await takeTurns(other, 'shared', 1)
    await takeTurns(store, 'shared', 3)
  })
  const listed = [CREATE, LIST, REMOVE]
  const turns = [listed, listed, [CREATE, REMOVE], listed, listed, [CREATE, REMOVE]]
  // The node of the lock is made, too.
  expect(codes.slice(-turns.flat().length)).toEqual(turns.flat())
})

test('a claim of another client that came in between is waited for', async () => {
  const [store, other] = [openStore(), openStore()]
  await takeTurns(store, 'between', 5)
  const held = await hold(other, 'between')
  expect(await store.attempt(makeClaim('between'), TRY)).toMatchObject({ outcome: 'busy' })
  const waiting = makeClaim('between')
  expect(await store.attempt(waiting, QUEUE)).toMatchObject({ outcome: 'waiting' })
  await other.withdraw(held)
  await expect.poll(() => store.attempt(waiting, QUEUE)).toMatchObject({ outcome: 'granted' })
})

test('two claims of one client at once exclude each other', async () => {
  const store = openStore()
  await takeTurns(store, 'at once', 5)
  const answers = await Promise.all(
    [1, 2].map(async () => store.attempt(makeClaim('at once'), QUEUE)),
  )
  expect(answers.map(({ outcome }) => outcome).sort()).toEqual(['granted', 'waiting'])
})

// The numbers begin at 0 again, and come to the one after the last turn.
test('a claim in a node that was reaped and made again is waited for', async () => {
  const [store, other] = [openStore(), openStore()]
  const TURNS = 4
  await takeTurns(store, 'reaped', TURNS)
  expect(await removeNode(raw, parentOf('reaped'))).toBe(true)
  await takeTurns(other, 'reaped', TURNS - 1)
  await hold(other, 'reaped')
  expect(await store.attempt(makeClaim('reaped'), QUEUE)).toMatchObject({ outcome: 'waiting' })
})

test('an entry that is not known to be gone is waited for', async () => {
  const { proxy, connect } = await openProxy(ensemble.ports[0])
  const store = openStore(connect)
  await takeTurns(store, 'kept', 4)
  const claim = await hold(store, 'kept')
  proxy.faults.dropRequests = true
  const withdrawal = Promise.resolve(store.withdraw(claim))
  await expect(withdrawal).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(await openStore().attempt(makeClaim('kept'), TRY)).toMatchObject({ outcome: 'busy' })
})

test('a claim that another client has withdrawn is refused after further turns', async () => {
  const [store, other] = [openStore(), openStore()]
  const claim = makeClaim('withdrawn')
  await takeTurns(store, 'withdrawn', 3)
  expect(await other.withdraw(claim)).toBe('absent')
  await takeTurns(store, 'withdrawn', 3)
  expect(await store.attempt(claim, QUEUE)).toEqual({ outcome: 'withdrawn' })
})

/** Draws who takes the lock, who gives it back, and when its empty node is reaped. */
async function takeDrawnTurns(random: SeededRandom, lock: string, steps: number): Promise<void> {
  const stores = [openStore(), openStore()]
  let held: { readonly store: Store; readonly claim: Claim } | undefined
  for (let step = 0; step < steps; step += 1) {
    // One client has the lock for some turns, so that it comes to trust the numbers.
    const store = stores[random.next() < 0.6 ? 0 : 1] ?? expect.unreachable()
    if (held && random.next() < 0.6) {
      expect(await held.store.withdraw(held.claim)).toBe('released')
      held = undefined
    } else if (!held && random.next() < 0.25) {
      // Not there before the first turn, and after another reaping.
      await removeNode(raw, parentOf(lock))
    } else {
      const claim = makeClaim(lock)
      const { outcome } = await store.attempt(claim, TRY)
      expect(outcome, `step ${step} of ${lock}`).toBe(held ? 'busy' : 'granted')
      held ??= { store, claim }
    }
  }
}

test(
  'in drawn orders of turns and reapings a lock has one holder',
  { timeout: 120_000 },
  async () => {
    for (let seed = 1; seed <= SEEDS; seed += 1)
      await takeDrawnTurns(new SeededRandom(seed), `drawn ${seed}`, 60)
  },
)

/** An entry of the lock `a`. */
function entry(sequence: number, number: bigint) {
  const digits = String(Math.abs(sequence)).padStart(9, '0')
  return { lock: 'a', key: `/holdfast/a/w+1+id+${sequence < 0 ? '-' : ''}${digits}`, number }
}

test('the number after that of a turn counts while so few transactions made both', () => {
  const turns = new OwnTurns()
  const first = entry(3, 100n)
  turns.begin('a', first)
  expect(turns.isNext('a', entry(4, 102n))).toBe(false)
  turns.end(first)
  expect(turns.isNext('a', entry(4, 102n))).toBe(true)
  expect(turns.isNext('a', entry(5, 102n))).toBe(false)
  expect(turns.isNext('b', entry(4, 102n))).toBe(false)
  // Taken out, reaped, made, with four entries before the one that has the number 4: the eighth.
  expect(turns.isNext('a', entry(4, 107n))).toBe(true)
  expect(turns.isNext('a', entry(4, 108n))).toBe(false)
  const negative = entry(-5, 200n)
  turns.begin('a', negative)
  turns.end(negative)
  expect(turns.isNext('a', entry(-4, 201n))).toBe(false)
})
