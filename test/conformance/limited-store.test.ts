/** A store with few traits passes the suite if it refuses what it does not support. */
import { conformanceSuite, type Subject } from '@holdfast/conformance'
import { VirtualClock } from 'holdfast/testing'
import { memoryStore } from 'holdfast/memory'
import type { Store, Traits } from 'holdfast/store'
import { runner } from './runner.js'

const clock = new VirtualClock()
const service = memoryStore({ clock, tombstonesPerLock: 1000 })

const traits: Traits = {
  ...service.traits,
  tokenBlocks: false,
  kinds: ['mutex'],
  fair: false,
  wakeUp: 'poll',
  adopt: false,
}

/** Opens a store that only excludes. */
function openLimited(): Store {
  return {
    name: 'limited',
    traits,
    async attempt(claim) {
      const result = await service.attempt(claim, { enqueue: false, tokens: 1 })
      return result.outcome === 'granted' ? { ...result, tokens: 1 } : result
    },
    renew: (renewals) => service.renew(renewals),
    withdraw: (claim) => service.withdraw(claim),
    watch: () => ({ ready: undefined, close: () => undefined }),
    downgrade: (claim) => service.downgrade(claim),
    steal: (lock, options) => service.steal(lock, options),
    list: (query) => service.list(query),
    inspect: (locks, waitersUpTo) => service.inspect(locks, waitersUpTo),
    close: () => undefined,
  }
}

const subject: Subject = {
  name: 'a store with few traits',
  traits,
  clock,
  open: openLimited,
  skip: [
    {
      reason: 'it lives in this process',
      tests: ['processes', 'tokens grow through a restart of the service'],
    },
  ],
}

conformanceSuite(subject, runner)
