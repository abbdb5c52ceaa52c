/** The runtime checks its own rules. A broken rule is an error with the rule and the lock in it. */
import { InternalLockError, type Store } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import type { Claim, Granted } from 'holdfast/store'
import { describe, expect, test } from 'vitest'
import { createLocks } from '../../dist/index.js'
import { Client } from '../../dist/lease/client.js'
import { Grant } from '../../dist/lease/grant/grant.js'
import { handOff, releaseGrant } from '../../dist/lease/local-queue/local-hand-off.js'
import { HeldLease } from '../../dist/lease/hold/held-lease.js'
import { RenewalLane } from '../../dist/lease/grant/renewal-lane.js'
import { CallerWait } from '../../dist/lease/wait/caller-wait.js'

const TEMPLATE = { lock: 'a', kind: 'mutex', capacity: 1, weight: 1, ttlMs: 1000 } as const
const UNLIMITED = { waitMs: Infinity, outageMs: 0, signal: undefined }
const OFFER = { token: 1n, tokens: 1, ttlMs: 1000 }
const START = { sentMs: 0, offsetMs: 0 }

function makeClient(): Client {
  return new Client(memoryStore(), {})
}

function makeGrant(client: Client, offer: Partial<typeof OFFER> = {}): Grant {
  return new Grant(
    client.runtime.newClaim(TEMPLATE),
    { ...OFFER, ...offer },
    START,
    true,
    client.runtime.clockTrust,
  )
}

/** @param rule a part of the rule that the error names */
function broken(rule: string): object {
  return expect.objectContaining({
    code: 'INTERNAL',
    message: expect.stringMatching(new RegExp(`${rule}.*please report it`)) as string,
  }) as object
}

describe('a broken rule of the runtime throws INTERNAL:', () => {
  test('a store that grants without a token block', async () => {
    const inner = memoryStore()
    const noTokens = (claim: Claim, options: Parameters<Store['attempt']>[1]): Granted => ({
      ...(inner.attempt(claim, options) as Granted),
      tokens: 0,
    })
    const store = Object.assign(Object.create(inner) as typeof inner, { attempt: noTokens })
    const error: unknown = await createLocks(store)
      .mutex('a')
      .acquire()
      .catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(InternalLockError)
    expect(error).toEqual(broken('of "a": a grant has at least one token'))
  })

  test('a wait that settles twice', async () => {
    const wait = new CallerWait<number>(makeClient().runtime, 'a', 0, UNLIMITED)
    wait.serve(1)
    expect(await wait.promise).toBe(1)
    expect(() => wait.serve(2)).toThrow(broken('a wait settles once'))
    expect(() => wait.fail(new Error('late'))).toThrow(broken('a wait settles once'))
    expect(() => wait.giveUp(new Error('late'))).not.toThrow()
  })

  test('a grant in two renewal lanes, or in none', () => {
    const grant = makeGrant(makeClient())
    const [lane, other] = [new RenewalLane<Grant>(10), new RenewalLane<Grant>(20)]
    lane.insert(grant)
    expect(() => other.insert(grant)).toThrow(broken('one renewal lane at most'))
    expect(() => other.remove(grant)).toThrow(broken('leaves the renewal lane'))
    lane.remove(grant)
    expect(() => lane.remove(grant)).toThrow(broken('leaves the renewal lane'))
  })

  test('a renewal that moves a deadline back', () => {
    const grant = makeGrant(makeClient(), { ttlMs: 5000 })
    grant.openRenewals = 1
    expect(() => grant.extend(10, 0, true)).toThrow(broken('moves a deadline forward'))
  })

  test('an answer to a renewal that was never sent', () => {
    const grant = makeGrant(makeClient())
    expect(() => grant.extend(10, 0, true)).toThrow(broken('a renewal that was sent'))
  })

  test('two leases on one grant at a time', () => {
    const client = makeClient()
    const grant = makeGrant(client)
    const returner = { returnGrant: () => 'released' as const }
    grant.holder = new HeldLease(client, grant, 0, Infinity, returner)
    expect(() => new HeldLease(client, grant, 0, Infinity, returner)).toThrow(
      broken('one holder at a time'),
    )
  })

  test('a hand-off beyond the block of tokens', () => {
    const client = makeClient()
    const wait = new CallerWait<HeldLease>(client.runtime, 'a', 0, UNLIMITED)
    const returner = { returnGrant: () => 'released' as const }
    expect(() => handOff(client, makeGrant(client), wait, returner, 0)).toThrow(
      broken('a token of its own'),
    )
  })

  test('a lease that is returned by another one', () => {
    const client = makeClient()
    const grant = makeGrant(client)
    const lease = new HeldLease(client, grant, 0, Infinity, { returnGrant: () => 'released' })
    grant.holder = undefined
    expect(() => lease.return()).toThrow(broken('only the holder'))
  })

  test('a grant that is released twice', () => {
    const client = makeClient()
    const grant = makeGrant(client)
    void releaseGrant(client, grant, 0)
    expect(() => releaseGrant(client, grant, 0)).toThrow(broken('released once'))
  })
})
