/** The real Redis store in a process of the modelled world, on a modelled client library. */
import type { Claimants } from '../workload/claimants.js'
import type { Store } from 'holdfast/store'
import type { Runtime } from '../runtime.js'
import type { Access, Customer } from '../server/service.js'
import { ModelClient } from './client.js'
import type { Endpoint } from './peer.js'

export function openRedisAccess(
  server: Endpoint,
  customer: Customer,
  { redisStore }: Runtime,
): Access {
  const { process, links, dice, requestTimeoutMs, claimants } = customer
  const [link] = links
  const connections = new Set<ModelClient>()
  const client = new ModelClient({
    server,
    process,
    link,
    dice,
    connections,
    retries: dice.pick([1, 20]),
  })
  const random = { next: () => dice.unit(), id: () => dice.id() }
  const store = redisStore({ client, requestTimeoutMs, clock: process, random })
  return {
    store: noting(store, claimants),
    reset() {
      for (const one of connections) one.reset()
    },
  }
}

/** Notes which actor makes a claim or adopts: it is known only in the tick of the request. */
export function noting(store: Store, claimants: Claimants): Store {
  const attempt = store.attempt.bind(store)
  store.attempt = (claim, options) => {
    claimants.sent(claim.lock, claim.id)
    return attempt(claim, options)
  }
  const withdraw = store.withdraw.bind(store)
  store.withdraw = (claim) => {
    claimants.withdrawn.add(claim.id)
    return withdraw(claim)
  }
  const adopt = store.adopt?.bind(store)
  if (!adopt) return store
  store.adopt = async (adoption) => {
    const { from, to, detached } = adoption
    if (detached) claimants.passedOn.add(from.id)
    if (!detached) claimants.adopts(to.lock, to.id)
    const result = await adopt(adoption)
    if (detached && result.outcome === 'granted') claimants.exported.add(to.id)
    return result
  }
  return store
}
