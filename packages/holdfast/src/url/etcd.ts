/** `etcd:` and `etcds:` URLs: `etcds://user:password@host:2379,other:2379?ca=/etc/etcd/ca.pem`. */
import { readFileSync } from 'node:fs'
import type { EtcdOptions, EtcdTls } from '../stores/etcd/index.js'
import { LockUsageError } from '../errors.js'
import { settingsError } from './settings-error.js'
import { shownOption } from './secrets.js'

const FILES = ['ca', 'cert', 'key'] as const

/**
 * Returns the options of `etcdStore` that a URL says.
 * @throws LockUsageError for a URL that makes no sense.
 * @throws StoreUnavailableError when a file of the URL cannot be read.
 */
export function etcdOptions(url: string): EtcdOptions {
  const match = /^(etcds?):\/\/(?:([^@/?#]*)@)?([^@/?#]+)\/?(?:\?([^#]*))?$/i.exec(url)
  const [, scheme = '', user, hosts, query = ''] = match ?? []
  if (hosts === undefined) {
    throw new LockUsageError(
      'Write the URL of etcd as etcd://host:2379 or etcds://user:password@host:2379,other:2379.',
    )
  }
  const secure = scheme.toLowerCase() === 'etcds'
  const options = new URLSearchParams(query)
  const endpoints = hosts
    .split(',')
    .map((host) => `${secure ? 'https' : 'http'}://${withPort(host)}`)
  return {
    endpoints,
    ...(user === undefined ? {} : { credentials: credentialsOf(user) }),
    ...prefixOf(options),
    ...(secure ? { tls: tlsOf(options) } : refuseAny(options)),
  }
}

function withPort(host: string): string {
  return /:\d+$/.test(host) ? host : `${host}:2379`
}

function credentialsOf(text: string): { user: string; password: string } {
  const colon = text.indexOf(':')
  if (colon < 0) throw new LockUsageError('The URL of etcd names a user without a password.')
  try {
    return {
      user: decodeURIComponent(text.slice(0, colon)),
      password: decodeURIComponent(text.slice(colon + 1)),
    }
  } catch {
    throw new LockUsageError(
      'The user or the password in the URL of etcd has a % that starts no escape; write it as %25.',
    )
  }
}

/** Takes the prefix out of the options. */
function prefixOf(options: URLSearchParams): Pick<EtcdOptions, 'prefix'> {
  const prefix = options.get('prefix')
  options.delete('prefix')
  return prefix === null ? {} : { prefix }
}

function tlsOf(options: URLSearchParams): EtcdTls {
  const tls: { -readonly [Name in keyof EtcdTls]: EtcdTls[Name] } = {}
  for (const [name, value] of options) {
    const file = FILES.find((one) => one === name)
    if (file) tls[file] = read(value)
    else if (name === 'serverName') tls.serverName = value
    else
      throw new LockUsageError(
        `etcds: URLs know the options prefix, ca, cert, key and serverName; this one has ${shownOption(name, options)}.`,
      )
  }
  return tls
}

function refuseAny(options: URLSearchParams): object {
  const [name] = options.keys()
  if (name === undefined) return {}
  throw new LockUsageError(
    `etcd: URLs know the option prefix; this one has ${shownOption(name, options)}. For TLS write etcds:.`,
  )
}

function read(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw settingsError(`The file ${path}, which the URL of etcd names, cannot be read.`, {
      cause,
    })
  }
}
