/** The memory store as a subject: in real time, and in virtual time, where nothing really waits. */
import { VirtualClock, type Skip, type Subject } from 'holdfast/conformance'
import { memoryStore } from 'holdfast/memory'
import type { Store } from 'holdfast/store'

const ALONE: Skip = {
  reason: 'the store lives and dies with this process',
  tests: ['processes', 'grow through a restart of the service'],
}

/** In virtual time the store remembers as much as any other, as a simulation would want it. */
const FORGETFUL: Skip = {
  reason:
    'its verbs run in the order of the calls, so that few withdrawn claims need to be remembered',
  tests: [
    'a withdrawn claim is remembered while a hundred others come and go',
    'a claim that was withdrawn before its attempt is remembered while a hundred others come and go',
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

/** One client of a store that several share: it can be closed without the others. */
export function clientOf<F extends boolean>(store: Store<F>): Store<F> {
  return {
    name: store.name,
    traits: store.traits,
    attempt: (claim, options) => store.attempt(claim, options),
    renew: (renewals) => store.renew(renewals),
    withdraw: (claim) => store.withdraw(claim),
    downgrade: (claim) => store.downgrade(claim),
    watch: (claim, wake) => store.watch(claim, wake),
    steal: (lock, options) => store.steal(lock, options),
    inspect: (query) => store.inspect(query),
    close: () => undefined,
  }
}
