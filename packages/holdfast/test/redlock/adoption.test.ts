/**
 * A lease passes from one claim to another while nodes are down, slow or empty, and while several
 * adopters ask for it.
 */
import type { AdoptResult, Claim, Store } from 'holdfast/store'
import { afterEach, expect, test } from 'vitest'
import { SeededRandom } from 'holdfast/testing'
import {
  attempt,
  claimOf,
  holderAt,
  holders,
  soon,
  startWorld,
  type Pass,
  type World,
} from './support/world.js'
import { systemClock } from '../../dist/clock/clock.js'
import { verbsOf } from '../redis/support/verbs-of.js'

const LOCK = 'order:1'
const LOST = { outcome: 'lost', reason: 'expired' }
/** Longer than any answer takes on a busy machine. */
const LONG = { nodeTimeoutMs: 5000 }
const NO_ANSWER = { code: 'STORE_UNAVAILABLE', store: 'redlock' }
let world: World

afterEach(() => world.end())

interface Passing {
  readonly from: Claim
  readonly token: bigint
}

/** Takes the lock and exports the lease. */
async function exported(store: Store, changes: Partial<Claim> = {}): Promise<Passing> {
  const holder = claimOf(LOCK, changes)
  const result = await store.attempt(holder, { enqueue: false, tokens: 1 })
  if (result.outcome !== 'granted') throw new Error(`The attempt was ${result.outcome}.`)
  const { token } = result
  // As before an export: then all nodes vote with the token, the late ones as well.
  await soon(async () => {
    expect(await store.renew([holder])).toEqual([{ outcome: 'renewed' }])
    for (const index of world.servers.keys()) {
      const locks = await world.node(index).inspect([LOCK])
      expect(locks[0]?.holders[0]).toMatchObject({ claimId: holder.id, token })
    }
  })
  const from = claimOf(LOCK, changes)
  const adoption = { from: holder, token, to: from, detached: true }
  expect(await store.adopt?.(adoption)).toMatchObject({ outcome: 'granted', token })
  await soon(async () => expect(await holders(world, LOCK)).toEqual(all(from)))
  return { from, token }
}

function all(claim: Claim | undefined): (string | undefined)[] {
  return world.servers.map(() => claim?.id)
}

async function adopt(store: Store, passing: Passing, to: Claim): Promise<AdoptResult> {
  return (await store.adopt?.({ ...passing, to, detached: false })) as AdoptResult
}

/** Adopts the lease. Returns the token, which is larger than that of the exporter. */
async function adopted(store: Store, passing: Passing, to: Claim): Promise<bigint> {
  const result = await adopt(store, passing, to)
  if (result.outcome !== 'granted') throw new Error(`The adoption was ${result.outcome}.`)
  expect(result.token).toBeGreaterThan(passing.token)
  return result.token
}

/** Adoptions reach only these nodes. */
function adoptsAt(...nodes: number[]): Pass {
  return (node, args, send) =>
    nodes.includes(node) || !args.includes('adopt') ? send() : Promise.reject(new Error('no way'))
}

/** Holds adoptions back at some nodes until it is opened. */
function gate(...nodes: number[]): { pass: Pass; open: () => void } {
  let open!: () => void
  const opened = new Promise<void>((resolve) => (open = resolve))
  return {
    pass: async (node, args, send) => {
      if (nodes.includes(node) && args.includes('adopt')) await opened
      return send()
    },
    open,
  }
}

test('of many adopters at one moment exactly one gets the lease, on an even number of nodes', async () => {
  world = await startWorld(4)
  const random = new SeededRandom(7)
  const unsteady: Pass = async (_node, args, send) => {
    const delayMs = args.includes('adopt') ? random.next() * 4 : 0
    await new Promise((resolve) => setTimeout(resolve, delayMs))
    return send()
  }
  const stores = Array.from({ length: 6 }, () =>
    world.openPassing(unsteady, { nodeTimeoutMs: 5000 }),
  )
  for (let round = 0; round < 20; round += 1) {
    const passing = await exported(stores[0] as Store)
    const claims = stores.map(() => claimOf(LOCK))
    const results = await Promise.all(
      stores.map((store, index) => adopt(store, passing, claims[index] as Claim)),
    )
    const winner = results.findIndex(({ outcome }) => outcome === 'granted')
    expect(results.filter(({ outcome }) => outcome === 'granted')).toHaveLength(1)
    expect(results.filter((_, index) => index !== winner)).toEqual(stores.slice(1).map(() => LOST))
    const claim = claims[winner] as Claim
    await soon(async () => expect(await holders(world, LOCK)).toEqual(all(claim)))
    expect(await stores[winner]?.withdraw(claim)).toBe('released')
    await soon(async () => expect(await holders(world, LOCK)).toEqual(all(undefined)))
  }
})

test('adopter with a minority loses to the one with the majority, and leaves no vote', async () => {
  world = await startWorld(3)
  const passing = await exported(world.open())
  const { pass, open } = gate(1, 2)
  const [first, second] = [world.openPassing(pass), world.openPassing(adoptsAt(1, 2))]
  const [one, two] = [claimOf(LOCK), claimOf(LOCK)]
  const adopting = adopt(first, passing, one)
  await soon(async () => expect(await holderAt(world, 0, LOCK)).toBe(one.id))
  expect(await adopt(second, passing, two)).toMatchObject({ outcome: 'granted' })
  open()
  expect(await adopting).toEqual(LOST)
  await soon(async () => expect(await holderAt(world, 0, LOCK)).toBeUndefined())
  // The first node votes for the adopter now, which does not come from there.
  await soon(async () => {
    expect(await second.renew([two])).toEqual([{ outcome: 'renewed' }])
    expect(await holders(world, LOCK)).toEqual(all(two))
  })
  expect(await second.withdraw(two)).toBe('released')
})

test('adopter that has votes passes the nodes that another one has', async () => {
  world = await startWorld(3)
  const passing = await exported(world.open())
  const { pass, open } = gate(1, 2)
  let reached = [1]
  const first = world.openPassing(pass)
  const second = world.openPassing((...call) => adoptsAt(...reached)(...call))
  const [one, two] = [claimOf(LOCK), claimOf(LOCK)]
  const adopting = adopt(first, passing, one)
  await soon(async () => expect(await holderAt(world, 0, LOCK)).toBe(one.id))
  await expect(adopt(second, passing, two)).rejects.toMatchObject(NO_ANSWER)
  reached = [0, 1, 2]
  expect(await adopt(second, passing, two)).toMatchObject({ outcome: 'granted' })
  open()
  expect(await adopting).toEqual(LOST)
})

test('adoption whose answers are lost is unknown, and granted when it is repeated', async () => {
  world = await startWorld(3)
  const passing = await exported(world.open())
  let losing = true
  const store = world.openPassing(async (node, args, send) => {
    const reply = await send()
    if (losing && node > 0 && args.includes('adopt')) throw new Error('no way')
    return reply
  })
  const to = claimOf(LOCK)
  await expect(adopt(store, passing, to)).rejects.toMatchObject(NO_ANSWER)
  expect(await adopt(world.open(), passing, claimOf(LOCK))).toEqual(LOST)
  losing = false
  const token = await adopted(store, passing, to)
  expect(await adopt(store, passing, to)).toMatchObject({ outcome: 'granted', token })
  expect(await store.renew([to])).toEqual([{ outcome: 'renewed' }])
  expect(await store.withdraw(to)).toBe('released')
  expect(await adopt(store, passing, to)).toEqual(LOST)
})

test('adopter whose seals are lost holds nothing yet, and gets a token when it repeats', async () => {
  world = await startWorld(3)
  // It proposes no token ahead of the nodes' clocks, so the next votes are these clocks.
  const passing = await exported(world.open({ clock: { ...systemClock, wallMs: () => 0 } }))
  let losing = true
  const store = world.openPassing((_node, args, send) =>
    losing && verbsOf(args).includes('s') ? Promise.reject(new Error('no way')) : send(),
  )
  const to = claimOf(LOCK)
  // The votes differ, so one node has the chosen token without a seal.
  await expect(adopt(store, passing, to)).rejects.toMatchObject({
    ...NO_ANSWER,
    message: expect.stringContaining('at the seal') as string,
  })
  expect(await adopt(world.open(), passing, claimOf(LOCK))).toEqual(LOST)
  losing = false
  const token = await adopted(store, passing, to)
  expect(await store.renew([to])).toEqual([{ outcome: 'renewed' }])
  await soon(async () => {
    for (const index of world.servers.keys()) {
      const locks = await world.node(index).inspect([LOCK])
      expect(locks[0]?.holders[0]).toMatchObject({ claimId: to.id, token })
    }
  })
  expect(await store.withdraw(to)).toBe('released')
})

test('tokens grow from adopter to adopter, for any nodes that each reaches', async () => {
  world = await startWorld(3)
  const random = new SeededRandom(11)
  let passing = await exported(world.open())
  const first = passing.token
  for (let round = 0; round < 12; round += 1) {
    const away = Math.floor(random.next() * 4)
    const reached = [0, 1, 2].filter((node) => node !== away)
    const store = world.openPassing(adoptsAt(...reached))
    const to = claimOf(LOCK)
    const token = await adopted(store, passing, to)
    // As an export does: then all nodes vote for the claim with its token.
    await soon(async () => {
      expect(await store.renew([to])).toEqual([{ outcome: 'renewed' }])
      expect(await holders(world, LOCK)).toEqual(all(to))
    })
    passing = { from: to, token }
  }
  expect(passing.token).toBeGreaterThan(first)
})

test('lease outlives an adopter that reached a minority and gave up', async () => {
  world = await startWorld(3)
  const passing = await exported(world.open())
  const [failing, store] = [world.openPassing(adoptsAt(0)), world.open()]
  const [one, two] = [claimOf(LOCK), claimOf(LOCK)]
  await expect(adopt(failing, passing, one)).rejects.toMatchObject(NO_ANSWER)
  // The adopter that has a vote may still get the others.
  expect(await adopt(store, passing, claimOf(LOCK))).toEqual(LOST)
  await failing.withdraw(one)
  // A majority decides the withdrawal, and the node that voted may confirm it later.
  await soon(async () => expect(await holderAt(world, 0, LOCK)).toBeUndefined())
  await adopted(store, passing, two)
  await soon(async () => {
    expect(await store.renew([two])).toEqual([{ outcome: 'renewed' }])
    expect(await holders(world, LOCK)).toEqual(all(two))
  })
})

test('request that arrives after its adopter gave up takes nothing', async () => {
  world = await startWorld(3)
  const passing = await exported(world.open())
  const { pass, open } = gate(0, 1, 2)
  const store = world.openPassing(pass, { nodeTimeoutMs: 300 })
  const to = claimOf(LOCK)
  await expect(adopt(store, passing, to)).rejects.toMatchObject(NO_ANSWER)
  await store.withdraw(to)
  // The nodes remember only the last of many withdrawals, and those with a request in flight.
  for (const index of world.servers.keys()) {
    for (let times = 0; times < 300; times += 1) await world.node(index).withdraw(claimOf(LOCK))
  }
  open()
  // Arrives after all that was held back.
  await soon(async () => expect(await adopt(store, passing, to)).toEqual(LOST))
  expect(await holders(world, LOCK)).toEqual(all(passing.from))
  expect(await adopt(world.open(), passing, claimOf(LOCK))).toMatchObject({ outcome: 'granted' })
})

test('vote that is still to be withdrawn counts for no adopter', async () => {
  world = await startWorld(3)
  const passing = await exported(world.open())
  let refused = ['w', 'adopt']
  const store = world.openPassing((node, args, send) => {
    const isRefused = refused.some(
      (word) =>
        (word === 'w' ? verbsOf(args).includes('w') : args.includes(word)) &&
        (word === 'w' || node > 0),
    )
    return isRefused ? Promise.reject(new Error('no way')) : send()
  })
  const to = claimOf(LOCK)
  await expect(adopt(store, passing, to)).rejects.toMatchObject(NO_ANSWER)
  await expect(store.withdraw(to)).rejects.toMatchObject(NO_ANSWER)
  refused = ['w']
  await expect(adopt(store, passing, to)).rejects.toMatchObject(NO_ANSWER)
  expect(await holders(world, LOCK)).toEqual(all(to))
  refused = []
  await soon(async () => expect(await holders(world, LOCK)).toEqual(all(undefined)))
})

test('node that came back empty does not keep an adopter from the lease', async () => {
  world = await startWorld(3)
  const store = world.open()
  const passing = await exported(store)
  await world.servers[0]!.command('FLUSHALL')
  const to = claimOf(LOCK)
  const token = await adopted(store, passing, to)
  await soon(async () => {
    expect(await store.renew([to])).toEqual([{ outcome: 'renewed' }])
    const locks = await world.node(0).inspect([LOCK])
    expect(locks[0]?.holders[0]).toMatchObject({ claimId: to.id, token })
  })
})

test('lease that a majority has forgotten is lost, and the adopter leaves no vote', async () => {
  world = await startWorld(3)
  const store = world.open()
  const passing = await exported(store)
  await world.servers[1]!.command('FLUSHALL')
  await world.servers[2]!.command('FLUSHALL')
  expect(await adopt(store, passing, claimOf(LOCK))).toEqual(LOST)
  await soon(async () => expect(await holders(world, LOCK)).toEqual(all(undefined)))
  expect(await attempt(store, claimOf(LOCK))).toBe('granted')
})

test('node that missed the adoption gives up the old claim, and votes for the new one', async () => {
  world = await startWorld(3)
  const passing = await exported(world.open())
  world.servers[0]!.pause()
  const other = world.openPassing(adoptsAt(1, 2))
  const to = claimOf(LOCK)
  expect(await adopt(other, passing, to)).toMatchObject({ outcome: 'granted' })
  world.servers[0]!.resume()
  await soon(async () => {
    expect(await other.renew([to])).toEqual([{ outcome: 'renewed' }])
    expect(await holders(world, LOCK)).toEqual(all(to))
  })
})

test('reader that was a writer lets readers in at a node that missed the downgrade', async () => {
  world = await startWorld(3)
  const writer = { kind: 'readWriteLock', capacity: 100, weight: 100 } as const
  const reader = { ...writer, weight: 1 }
  const store = world.openThrough(2, (send, args) =>
    args.includes('downgrade') ? Promise.reject(new Error('no way')) : send(),
  )
  const passing = await exported(store, writer)
  expect(await store.downgrade(passing.from)).toBe(true)
  const other = world.open()
  const to = claimOf(LOCK, reader)
  expect(await adopt(other, passing, to)).toMatchObject({ outcome: 'granted' })
  expect(await other.renew([to])).toEqual([{ outcome: 'renewed' }])
  await soon(async () =>
    expect(await attempt(world.node(2), claimOf(LOCK, reader))).toBe('granted'),
  )
})

test('adoption of which nothing is left is no lease', async () => {
  world = await startWorld(3)
  const passing = await exported(world.open())
  const store = world.openPassing(
    async (node, args, send) => {
      const reply = await adoptsAt(0, 1)(node, args, send)
      if (args.includes('adopt')) await new Promise((resolve) => setTimeout(resolve, 150))
      return reply
    },
    { nodeTimeoutMs: 5000 },
  )
  await expect(adopt(store, passing, claimOf(LOCK, { ttlMs: 200 }))).rejects.toMatchObject({
    ...NO_ANSWER,
    message: expect.stringMatching(/majority passed on.*nothing was left/),
  })
})

test('with requests and answers lost at random no two adopters get one lease', async () => {
  world = await startWorld(5)
  const random = new SeededRandom(7)
  const lossy: Pass = async (_node, args, send) => {
    const dice = args.includes('adopt') ? random.next() : 1
    if (dice < 0.3) throw new Error('no way there')
    const reply = await send()
    if (dice < 0.5) throw new Error('no way back')
    return reply
  }
  const exporter = world.open()
  const stores = Array.from({ length: 4 }, () => world.openPassing(lossy))
  let adopted = 0
  for (let round = 0; round < 40; round += 1) {
    const passing = await exported(exporter)
    const claims = stores.map(() => claimOf(LOCK))
    const attempts = stores.map(async (store, index) => adoptSoon(store, passing, claims[index]!))
    const outcomes = await Promise.all(attempts)
    const granted = outcomes.flatMap((outcome, index) => (outcome === 'granted' ? [index] : []))
    expect(granted.length).toBeLessThanOrEqual(1)
    for (const index of granted) {
      expect(await stores[index]?.renew([claims[index]!])).toEqual([{ outcome: 'renewed' }])
      expect(await stores[index]?.withdraw(claims[index]!)).toBe('released')
    }
    adopted += granted.length
    await exporter.steal(LOCK, { now: true })
  }
  expect(adopted).toBeGreaterThan(20)
})

/** Repeats the verb with the same claim a few times, and withdraws the claim then. */
async function adoptSoon(store: Store, passing: Passing, to: Claim): Promise<string> {
  for (let tries = 0; tries < 4; tries += 1) {
    try {
      return (await adopt(store, passing, to)).outcome
    } catch (error) {
      expect(error).toMatchObject(NO_ANSWER)
    }
  }
  await store.withdraw(to)
  return 'gave up'
}

test('close waits for nodes that answer late, so that the lock is free everywhere', async () => {
  world = await startWorld(3)
  let isSlow = false
  const store = world.openThrough(
    1,
    async (send) => {
      if (isSlow) await new Promise((resolve) => setTimeout(resolve, 100))
      return send()
    },
    LONG,
  )
  const passing = await exported(world.open())
  const to = claimOf(LOCK)
  isSlow = true
  expect(await adopt(store, passing, to)).toMatchObject({ outcome: 'granted' })
  expect(await store.withdraw(to)).toBe('released')
  await store.close()
  expect(await holders(world, LOCK)).toEqual(all(undefined))
})

test('close waits until a node that failed an adoption has withdrawn the old claim', async () => {
  world = await startWorld(3)
  const passing = await exported(world.open())
  const store = world.openThrough(
    1,
    async (send, args) => {
      if (!args.includes('adopt')) return send()
      await new Promise((resolve) => setTimeout(resolve, 100))
      throw new Error('no way')
    },
    LONG,
  )
  const to = claimOf(LOCK)
  expect(await adopt(store, passing, to)).toMatchObject({ outcome: 'granted' })
  expect(await store.withdraw(to)).toBe('released')
  await store.close()
  expect(await holders(world, LOCK)).toEqual(all(undefined))
})
