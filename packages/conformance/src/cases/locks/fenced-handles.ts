/** A resource that checks tokens, while leases pass from client to client. */
import assert from 'node:assert/strict'
import type { Lease, Locks, Random } from 'holdfast'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { adopt } from '../../needs.js'

export const fencedHandles = new Group('fenced handles', [adopt])

const ROUNDS = 6

/** Refuses a token smaller than one that it has seen, and the same one of another owner. */
class FencedResource {
  #token = 0n
  #owner = ''

  accepts({ token, claimId }: Lease): boolean {
    if (token < this.#token || (token === this.#token && claimId !== this.#owner)) return false
    this.#token = token
    this.#owner = claimId
    return true
  }
}

fencedHandles.test(
  'a resource accepts an adopter, and refuses the exporter from then on',
  async (context) => {
    const [exporter, adopter] = [await context.locks(), await context.locks()]
    const resource = new FencedResource()
    const lease = await exporter.mutex(context.name()).acquire()
    assert.equal(resource.accepts(lease), true)
    const handle = await lease.export()
    // No other process holds the lock yet.
    assert.equal(resource.accepts(lease), true)
    const adopted = await adopter.mutex(context.name()).adopt(handle)
    assert.equal(resource.accepts(adopted), true)
    assert.equal(resource.accepts(lease), false)
    const own = await exporter.mutex(context.name()).adopt(await adopted.export())
    assert.equal(resource.accepts(own), true)
    assert.equal(resource.accepts(adopted), false)
    await own.release()
  },
)

fencedHandles.test(
  'a resource accepts each holder and refuses those before it, in any order of verbs',
  async (context) => {
    const clients = [await context.locks(), await context.locks(), await context.locks()]
    const resource = new FencedResource()
    const over: Lease[] = []
    const begin = (lease: Lease): void => {
      for (const { token } of over)
        assert.ok(lease.token > token, `token ${lease.token} came after ${token}`)
      // A late write of the holder before it may come first.
      const before = over.at(-1)
      if (before && below(context.random, 2) === 0) resource.accepts(before)
      assert.equal(resource.accepts(lease), true, `the token ${lease.token} was refused`)
      for (const late of over) assert.equal(resource.accepts(late), false, `accepted ${late.token}`)
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      let lease = await lastOfCohort(context, pick(context.random, clients), (one) => {
        begin(one)
        over.push(one)
      })
      begin(lease)
      for (let hops = below(context.random, 4); hops > 0; hops -= 1) {
        const handle = await lease.export()
        over.push(lease)
        const [one, other] = [pick(context.random, clients), pick(context.random, clients)]
        if (below(context.random, 2) === 0) await one.renewHandle(handle)
        lease = await other.mutex(context.name()).adopt(handle)
        begin(lease)
      }
      await lease.release()
      over.push(lease)
    }
  },
)

/** Callers of one client hold the lock one after the other. Resolves to the lease of the last. */
async function lastOfCohort(
  context: Context,
  locks: Locks,
  held: (lease: Lease) => void,
): Promise<Lease> {
  const mutex = locks.mutex(context.name())
  const callers = Array.from({ length: 1 + below(context.random, 4) }, () =>
    context.later(mutex.acquire()),
  )
  for (const caller of callers.slice(0, -1)) {
    const lease = await context.soon(caller)
    held(lease)
    await lease.release()
  }
  return context.soon(callers.at(-1) as Promise<Lease>)
}

function below(random: Random, limit: number): number {
  return Math.floor(random.next() * limit)
}

function pick(random: Random, clients: readonly Locks[]): Locks {
  return clients[below(random, clients.length)] as Locks
}
