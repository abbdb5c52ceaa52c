/** Where `holdfast console` listens, and under which host names. */
import { hostname } from 'node:os'
import { isIP } from 'node:net'
import { UsageError } from '../cli-error.js'

export interface ListenAddress {
  readonly host: string
  readonly port: number
  /** Whether only this machine reaches it. */
  readonly isLoopback: boolean
}

const ADDRESS = /^(?:\[([\da-f:.%a-z]+)\]|([^:[\]]+)):(\d{1,5})$/i
const MOST_PORT = 65_535

/** @throws UsageError for another form than HOST:PORT */
export function listenAddress(text = '127.0.0.1:0'): ListenAddress {
  const [, six, other, digits] = ADDRESS.exec(text) ?? []
  const host = six ?? other
  const port = Number(digits)
  if (host === undefined || port > MOST_PORT || (six !== undefined && isIP(six) !== 6))
    throw new UsageError(
      `--listen ${JSON.stringify(text)} is no address. Write --listen 127.0.0.1:0`,
    )
  return { host, port, isLoopback: isLoopback(host) }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** Returns a host for a URL. */
export function urlHost(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host
}

/**
 * Whether a request may name this host: an address, or a name of this machine. A page of another
 * site can point a name of its own at this machine. The port may be that of a tunnel.
 */
export function isOwnHost({ host, isLoopback: isLocal }: ListenAddress, asked: string): boolean {
  const name = /^(\[[^\]]+\]|[^:]*)(?::\d+)?$/.exec(asked)?.[1] ?? ''
  const known = ['localhost', '127.0.0.1', '[::1]', urlHost(host.toLowerCase())]
  if (known.includes(name)) return true
  if (isLocal) return false
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0 || name === hostname().toLowerCase()
}
