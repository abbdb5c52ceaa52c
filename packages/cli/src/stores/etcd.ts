/** `etcd:` and `etcds:` URLs: `etcds://user:password@host:2379,other:2379?ca=/etc/etcd/ca.pem`. */
import { readFileSync } from 'node:fs'
import { etcdStore, type EtcdOptions, type EtcdTls } from 'holdfast/etcd'
import type { Store } from 'holdfast/store'
import { ConfigError, UsageError } from '../cli-error.js'
import { shownOption } from './url-secrets.js'

const FILES = ['ca', 'cert', 'key'] as const

export function open(url: string): Store {
  return etcdStore(etcdOptions(url))
}

export function etcdOptions(url: string): EtcdOptions {
  const match = /^(etcds?):\/\/(?:([^@/?#]*)@)?([^@/?#]+)\/?(?:\?([^#]*))?$/i.exec(url)
  const [, scheme = '', user, hosts, query = ''] = match ?? []
  if (hosts === undefined) {
    throw new UsageError(
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
    ...(secure ? { tls: tlsOf(options) } : refuseAny(options)),
  }
}

function withPort(host: string): string {
  return /:\d+$/.test(host) ? host : `${host}:2379`
}

function credentialsOf(text: string): { user: string; password: string } {
  const colon = text.indexOf(':')
  if (colon < 0) throw new UsageError('The URL of etcd names a user without a password.')
  try {
    return {
      user: decodeURIComponent(text.slice(0, colon)),
      password: decodeURIComponent(text.slice(colon + 1)),
    }
  } catch {
    throw new UsageError(
      'The user or the password in the URL of etcd has a % that starts no escape; write it as %25.',
    )
  }
}

function tlsOf(options: URLSearchParams): EtcdTls {
  const tls: { -readonly [Name in keyof EtcdTls]: EtcdTls[Name] } = {}
  for (const [name, value] of options) {
    const file = FILES.find((one) => one === name)
    if (file) tls[file] = read(value)
    else if (name === 'serverName') tls.serverName = value
    else
      throw new UsageError(
        `etcds: URLs know the options ca, cert, key and serverName; this one has ${shownOption(name, options)}.`,
      )
  }
  return tls
}

function refuseAny(options: URLSearchParams): object {
  const [name] = options.keys()
  if (name === undefined) return {}
  throw new UsageError(
    `etcd: URLs have no options; this one has ${shownOption(name, options)}. For TLS write etcds:.`,
  )
}

function read(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new ConfigError(`The file ${path}, which the URL of etcd names, cannot be read.`, {
      cause,
    })
  }
}
