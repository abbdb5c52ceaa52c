/** The memory store as a subject: in real time, and in virtual time, where nothing really waits. */
import { VirtualClock, type Subject } from 'holdfast/conformance'
import { memoryStore, type MemoryStoreOptions } from 'holdfast/memory'
import type { Store } from 'holdfast/store'

/** In one process nothing arrives late, so the store remembers few withdrawn claims; the suite asks about more. */
const REMEMBERS: MemoryStoreOptions = { tombstonesPerLock: 1000 }

const ALONE = {
  reason: 'the store lives and dies with this process',
  tests: ['processes', 'grow through a restart of the service'],
} as const

export function memorySubject(): Subject {
  const store = memoryStore(REMEMBERS)
  return { name: 'memory', traits: store.traits, open: () => clientOf(store), skip: [ALONE] }
}

export function virtualMemorySubject(): Subject {
  const clock = new VirtualClock()
  const store = memoryStore({ ...REMEMBERS, clock })
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
