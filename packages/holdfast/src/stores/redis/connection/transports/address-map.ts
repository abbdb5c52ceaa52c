/**
 * Addresses behind NAT: what a client is set to connect to instead of what the members of a
 * Cluster call themselves.
 */
import type { Address } from './transport.js'

/** @param map the client's own setting: a function, or an object by `host:port` */
export function mapAddress(map: unknown, address: Address): Address {
  const name = `${address.host}:${address.port}`
  const found: unknown =
    typeof map === 'function'
      ? map(name)
      : typeof map === 'object' && map !== null
        ? Reflect.get(map, name)
        : undefined
  return isAddress(found) ? found : address
}

function isAddress(found: unknown): found is Address {
  return typeof found === 'object' && found !== null && 'host' in found && 'port' in found
}
