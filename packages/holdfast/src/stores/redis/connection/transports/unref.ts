/**
 * Connections of the store's own do not keep the process alive: the pending calls of the runtime
 * do. A program that has ended its client would live on for a lease that it merely holds.
 */

interface EmittingClient {
  on(event: string, listener: () => void): unknown
}

/**
 * For a client of ioredis, which has another socket after each time that it connects, and a timer
 * before it tries again.
 */
export function unrefSockets<C extends EmittingClient>(client: C): C {
  const unref = (field: string): void => {
    const resource: unknown = Reflect.get(client, field)
    if (hasUnref(resource)) resource.unref()
  }
  client.on('connect', () => unref('stream'))
  client.on('reconnecting', () => unref('reconnectTimeout'))
  return client
}

function hasUnref(value: unknown): value is { unref(): void } {
  return typeof value === 'object' && value !== null && 'unref' in value
}
