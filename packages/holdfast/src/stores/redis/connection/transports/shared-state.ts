/**
 * One set of listeners on a client, however many stores there are over it: Node takes more than ten
 * for a leak, and warns.
 */
import type { StateListener } from './transport.js'

interface Shared {
  readonly listeners: Set<StateListener>
  readonly detach: () => void
}

const byClient = new WeakMap<object, Shared>()

/**
 * Reports a client's state until the returned function is called.
 * @param attach puts the one listener on the client, and gives what takes it off again
 */
export function watchShared(
  client: object,
  listener: StateListener,
  attach: (all: StateListener) => () => void,
): () => void {
  const shared = byClient.get(client) ?? share(client, attach)
  const { listeners, detach } = shared
  listeners.add(listener)
  return () => {
    if (!listeners.delete(listener) || listeners.size > 0) return
    byClient.delete(client)
    detach()
  }
}

function share(client: object, attach: (all: StateListener) => () => void): Shared {
  const listeners = new Set<StateListener>()
  const detach = attach({
    ready() {
      for (const listener of listeners) listener.ready()
    },
    lost(error) {
      for (const listener of listeners) listener.lost(error)
    },
    broken() {
      for (const listener of listeners) listener.broken?.()
    },
  })
  const shared = { listeners, detach }
  byClient.set(client, shared)
  return shared
}
