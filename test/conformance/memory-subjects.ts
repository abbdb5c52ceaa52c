/** The memory store as a subject, in real time and in virtual time. */
import { type Skip, type Subject } from '@holdfast/conformance'
import { VirtualClock } from 'holdfast/testing'
import { memoryStore } from 'holdfast/memory'
import type { Store } from 'holdfast/store'

const ALONE: Skip = {
  reason: 'the store is memory of this process',
  tests: ['processes', 'tokens grow through a restart of the service'],
}

/** In virtual time the store keeps as many tombstones as other stores. */
const FORGETFUL: Skip = {
  reason: 'its verbs run in the order of the calls, so it keeps few tombstones',
  tests: [
    'the tombstone of a withdrawn claim outlasts a hundred later claims',
    'the tombstone of a claim that was withdrawn before its attempt outlasts a hundred later claims',
  ],
}

export function memorySubject(): Subject {
  const store = memoryStore()
  return {
    name: 'memory',
    traits: store.traits,
    open: () => clientOf(store),
    skip: [ALONE, FORGETFUL],
  }
}

export function virtualMemorySubject(): Subject {
  const clock = new VirtualClock()
  const store = memoryStore({ tombstonesPerLock: 1000, clock })
  return {
    name: 'memory in virtual time',
    traits: store.traits,
    clock,
    open: () => clientOf(store),
    skip: [ALONE],
  }
}

/** Returns a client of a store that several clients share. Closing it does not close the others. */
export function clientOf(store: Store): Store {
  return {
    name: store.name,
    traits: store.traits,
    attempt: (claim, options) => store.attempt(claim, options),
    renew: (renewals) => store.renew(renewals),
    withdraw: (claim) => store.withdraw(claim),
    downgrade: (claim) => store.downgrade(claim),
    watch: (claim, wake) => store.watch(claim, wake),
    steal: (lock, options) => store.steal(lock, options),
    list: (query) => store.list(query),
    inspect: (locks, waitersUpTo) => store.inspect(locks, waitersUpTo),
    close: () => undefined,
  }
}
