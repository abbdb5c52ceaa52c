/** What `etcdStore` is given, and what of it makes sense. */
import { LockUsageError } from '../../errors.js'
import { describe } from '../../options/describe.js'
import { checkKeys, type KnownKeys } from '../../options/known-keys.js'
import { withoutPassword } from '../coordination/connection/address-without-password.js'

/** Where etcd is, and how a client proves who it is. */
export interface EtcdOptions {
  /**
   * Such as `http://10.0.0.1:2379` or `10.0.0.1:2379`; `https://` for TLS. All members, so that one
   * may fail.
   */
  readonly endpoints: readonly string[]
  /** User and password, where etcd has authentication enabled. */
  readonly credentials?: { readonly user: string; readonly password: string } | undefined
  /**
   * What all keys of the store begin with; a slash is added where it has none. Clients of one lock
   * use the same prefix. Default: `holdfast/`.
   */
  readonly prefix?: string | undefined
  /** Certificates in PEM. With it, endpoints without a scheme use TLS as well. */
  readonly tls?: EtcdTls | undefined
}

/** Certificates for connections to etcd. */
export interface EtcdTls {
  /** Who signs the servers' certificates. Default: those that Node trusts. */
  readonly ca?: string | Uint8Array | undefined
  /** The client's own certificate and key, where the servers ask for one. */
  readonly cert?: string | Uint8Array | undefined
  /** The key of the client's certificate. */
  readonly key?: string | Uint8Array | undefined
  /**
   * The name that the servers' certificates are made out to, where it is not the host of the
   * endpoint.
   */
  readonly serverName?: string | undefined
}

const KEYS: KnownKeys<EtcdOptions> = {
  endpoints: 1,
  prefix: 1,
  credentials: 1,
  tls: 1,
}
const CREDENTIALS_KEYS: KnownKeys<NonNullable<EtcdOptions['credentials']>> = {
  user: 1,
  password: 1,
}
const TLS_KEYS: KnownKeys<EtcdTls> = { ca: 1, cert: 1, key: 1, serverName: 1 }

export interface Endpoint {
  /** As the client library wants it. */
  readonly target: string
  readonly secure: boolean
}

/** @throws LockUsageError when it is no address. */
export function parseEndpoint(endpoint: string, { tls }: Pick<EtcdOptions, 'tls'> = {}): Endpoint {
  const match = /^(?:(https?):\/\/)?((?:\[[0-9a-f:.]+\]|[^\s/:@[\]]+):(\d{1,5}))\/?$/i.exec(
    endpoint,
  )
  const port = Number(match?.[3])
  if (!match?.[2] || !(port > 0 && port < 65_536)) {
    throw new LockUsageError(
      `${withoutPassword(endpoint)} is no endpoint of etcd. Write host:port, http://host:port or https://host:port, such as ` +
        'http://127.0.0.1:2379. User and password go into the option credentials.',
      { store: 'etcd' },
    )
  }
  const secure = match[1] === undefined ? tls !== undefined : match[1].toLowerCase() === 'https'
  return { target: match[2], secure }
}

/**
 * @param call the public call whose options these are
 * @throws LockUsageError which names the mistake.
 */
export function checkOptions(options: EtcdOptions, call: string): void {
  checkKeys(call, options, KEYS, { store: 'etcd' })
  const { endpoints, prefix, credentials, tls } = options
  if (credentials) checkKeys(`credentials of ${call}`, credentials, CREDENTIALS_KEYS)
  if (tls) checkKeys(`tls of ${call}`, tls, TLS_KEYS, { store: 'etcd' })
  if (!Array.isArray(endpoints) || endpoints.length === 0) {
    throw new LockUsageError(
      'etcdStore needs endpoints: a list of addresses, such as ["http://127.0.0.1:2379"].',
      {
        store: 'etcd',
      },
    )
  }
  if (prefix !== undefined) checkPrefix(prefix)
  for (const endpoint of endpoints) parseEndpoint(String(endpoint), options)
  if (credentials && (!credentials.user || typeof credentials.password !== 'string')) {
    throw new LockUsageError('The credentials of etcdStore need a user and a password.', {
      store: 'etcd',
    })
  }
  if (tls && (tls.cert === undefined) !== (tls.key === undefined)) {
    throw new LockUsageError('The tls of etcdStore needs both cert and key, or neither.', {
      store: 'etcd',
    })
  }
}

const LONGEST_PREFIX = 256

function checkPrefix(prefix: unknown): void {
  // A lone half of a surrogate pair would be another key on the way back.
  const isText = typeof prefix === 'string' && !/\p{Cs}/u.test(prefix)
  if (isText && prefix !== '' && prefix.length <= LONGEST_PREFIX) return
  throw new LockUsageError(
    `Invalid prefix of etcdStore: must be a text of 1 to ${LONGEST_PREFIX} characters, got ${describe(prefix)}.`,
    { store: 'etcd' },
  )
}
