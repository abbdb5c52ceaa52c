/** Where the servers of a store are, as a client sees them. */

/**
 * How a client reaches its store: addresses in the order of the servers, proxies between, or a
 * folder.
 */
export interface Connection {
  readonly ports: readonly number[]
  readonly directory?: string
  /** Those that a client begins with, where it finds the others by asking. */
  readonly seeds?: readonly number[]
  /** How this client reaches a server that others name by its own address, `host:port`. */
  readonly routes?: Readonly<Record<string, { readonly host: string; readonly port: number }>>
}

/** Returns the port of an address, which is a URL or `host:port`. */
export function portOf(address = ''): number {
  return Number(/:(\d+)\/?$/.exec(address)?.[1])
}

/** Returns the addresses of the servers, with commas between. */
export function hostsOf({ ports }: Pick<Connection, 'ports'>): string {
  return ports.map((port) => `127.0.0.1:${port}`).join()
}
