import type { Store } from 'holdfast/store'

/** Returns the store with a `close` that also ends its pool. */
export function closing<F extends boolean>(store: Store<F>, end: () => Promise<unknown>): Store<F> {
  let closed: Promise<void> | undefined
  const close = async (): Promise<void> => {
    await store.close()
    await end()
  }
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
    close: () => (closed ??= close()),
  }
}
