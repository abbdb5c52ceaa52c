/** What `etcdStore` is given, and what of it makes sense. */
import { LockUsageError } from '../../errors.js'
import { describe } from '../../options/describe.js'
import { checkKeys, type KnownKeys } from '../../options/known-keys.js'
import { parseEndpoint, type EtcdOptions, type EtcdTls } from './connection/endpoints.js'

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
