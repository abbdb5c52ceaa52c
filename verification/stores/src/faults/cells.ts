/** What a store promises under a fault. */

/** The promises that a run is judged by, with what each says. */
export const PROPERTIES = {
  exclusion: 'at no moment do the believing holders of a lock weigh more than its capacity',
  tokens: 'each grant has a larger token than all before it',
  held: '`held` is never true when the lease is over',
  'loss-announced':
    'the signal announces a loss by the deadline, or in the first ticks of a process that was stopped',
  kept: 'a lease stays held while its event loop is blocked for less than `blockedAtMostMs`',
  release: '`released` is answered only if the lease lasted until then',
  counter: 'the resource that checks tokens loses no increment and accepts no late write',
  forgotten: 'a lease that the server has lost is never renewed',
  liveness: 'soon after everything is healed, every waiter is served',
  ghost: 'nothing is held for clients that released everything',
  error: 'no process meets an error that it was not promised',
} as const
export type Property = keyof typeof PROPERTIES
export const PROPERTY_NAMES = Object.keys(PROPERTIES) as readonly Property[]

export type Cell =
  | { readonly verdict: 'promised'; readonly note?: string }
  /** These promises are not given. What happens is counted. */
  | {
      readonly verdict: 'not promised'
      readonly without: readonly Property[]
      readonly because: string
    }
  /** Cannot happen to this store, or cannot be driven here. */
  | { readonly verdict: 'absent'; readonly because: string }
