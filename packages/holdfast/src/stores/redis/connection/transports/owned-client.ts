/** Clients that Holdfast made itself: only these may be connected again under their user. */

const RECONNECT = Symbol.for('holdfast.redis.reconnect')

/** Notes how a client of our own leaves its connection and makes another one. */
export function noteOwned(client: object, reconnect: () => void): void {
  Object.defineProperty(client, RECONNECT, { value: reconnect })
}

/** Returns how to connect a client again. Undefined for a client of the caller's. */
export function reconnectOf(client: object): (() => void) | undefined {
  return Reflect.get(client, RECONNECT) as (() => void) | undefined
}
