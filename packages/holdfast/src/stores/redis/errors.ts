/**
 * Turns the errors of servers and client libraries into errors of Holdfast that say what to do.
 *
 * The original is not passed on as the cause: the libraries attach the command that failed, and
 * with a failed AUTH that is the password.
 */
import {
  InternalLockError,
  isLockError,
  StoreUnavailableError,
  type LockError,
  type UnavailableCode,
} from '../../errors.js'
import { UPDATE_ADVICE } from '../../store/errors.js'
import { CERTIFICATE_ADVICE, isCertificateError } from '../../store/tls-errors.js'

export const STORE_NAME = 'redis'

interface Advice {
  readonly code: UnavailableCode
  readonly text: string
}

const unavailable = (text: string): Advice => ({ code: 'STORE_UNAVAILABLE', text })
const config = (text: string): Advice => ({ code: 'STORE_CONFIG', text })
const auth = (text: string): Advice => ({ code: 'STORE_AUTH', text })

/** @param start what stands before each key and channel */
const rightsBelow = (start: string): string =>
  `Allow this user the scripts and keys of the store: ~${start}:* &${start}:* +eval +evalsha +scan +publish +subscribe ` +
  'and the commands inside the scripts. Where the server bans scripts, use another server or another store.'

const DEFAULT_RIGHTS = rightsBelow('hf')

/** By the first word of what the server answers. */
const ADVICE = new Map<string, Advice>([
  ['WRONGPASS', auth('Check the user name and the password of the client.')],
  [
    'BADTOKEN',
    auth(
      'Give the token of this endpoint: as an option, in the URL, in a file (?tokenFile=), or in UPSTASH_REDIS_REST_TOKEN.',
    ),
  ],
  ['NOAUTH', auth('The server asks for a password: give the client one that it accepts.')],
  ['NOPERM', auth(DEFAULT_RIGHTS)],
  [
    'WRONGTYPE',
    config(
      'Something else uses a key of this lock. Use another lock name, or another prefix for the store.',
    ),
  ],
  [
    'FOREIGN',
    config(
      'Something else uses a key of this lock. Use another lock name, or another prefix for the store.',
    ),
  ],
  ['FORMAT', { code: 'STORE_FORMAT', text: UPDATE_ADVICE }],
  [
    'OOM',
    unavailable('The server is out of memory (maxmemory): no new locks until there is room.'),
  ],
  [
    'READONLY',
    unavailable('The client is connected to a read-only replica: connect it to the primary.'),
  ],
  [
    'MISCONF',
    unavailable(
      'The server refuses writes since it cannot save its data: look at its log and its disk.',
    ),
  ],
  ['NOREPLICAS', unavailable('The server refuses writes since too few replicas follow it.')],
  ['UNSUITED', config('Use a server that has it: Redis, Valkey, or another store.')],
  ['LOADING', unavailable('The server is still loading its data.')],
  ['MOVED', config('The server is a member of a Cluster: give the store a client of the Cluster.')],
  [
    'CROSSSLOT',
    config('The server is a member of a Cluster: give the store a client of the Cluster.'),
  ],
  ['CLUSTERDOWN', unavailable('The Cluster has no primary for this lock at the moment.')],
  ['TRYAGAIN', unavailable('The slot of this lock is being moved, and that takes long.')],
  ['BUSY', unavailable('A script of another program keeps the server busy.')],
])

/** A server answers with a word in capitals first; client libraries speak in sentences. */
const SERVER_ERROR = /^-?([A-Z][A-Z0-9]+) /

/** How ioredis reports Sentinels that refuse its login. */
const REFUSED_BY_SENTINELS = /^All sentinels are unreachable\b.* Last error: (WRONGPASS|NOAUTH) /

/** Whether the error came from the server itself: it has got the command, and did not do it. */
export function isServerError(error: unknown): boolean {
  return SERVER_ERROR.test(messageOf(error))
}

export function isUnknownScript(error: unknown): boolean {
  return messageOf(error).startsWith('NOSCRIPT')
}

/** Whether the answer is about the state of the server, which may pass, not about the request. */
export function isOfState(answer: string): boolean {
  return ADVICE.get(SERVER_ERROR.exec(answer)?.[1] ?? '')?.code === 'STORE_UNAVAILABLE'
}

/** Any failure, explained. `lock` where one lock is concerned. */
export function explain(error: unknown, lock?: string): LockError {
  if (isLockError(error)) return lock === undefined ? error : withLock(error, lock)
  const message = plain(redact(messageOf(error)))
  // A missing right inside a script is a sentence and no word; since Redis 7.2 another one.
  const word = /^ERR (?:The user executing the script can't|ACL failure in script)/.test(message)
    ? 'NOPERM'
    : (SERVER_ERROR.exec(message) ?? REFUSED_BY_SENTINELS.exec(message))?.[1]
  // A script found its own state broken.
  if (word === 'BROKEN') return new InternalLockError(message, { store: STORE_NAME, lock })
  const { code, text } = isCertificateError(error)
    ? auth(CERTIFICATE_ADVICE)
    : /^ERR (DB index|invalid DB index)/.test(message)
      ? config('Name a database that the server has: see its setting databases.')
      : (ADVICE.get(word ?? '') ?? adviceFor(word))
  return new StoreUnavailableError(`Redis: ${message}${message.endsWith('.') ? '' : '.'} ${text}`, {
    code,
    store: STORE_NAME,
    lock,
    cause: withoutSecrets(error, message),
    serverCode: word,
  })
}

/**
 * Returns the error with the rights that this store needs, where the server refused a command.
 * @param start what stands before each key and channel of the store
 */
export function withRights(error: LockError, start: string): LockError {
  if ((error as Partial<StoreUnavailableError>).serverCode !== 'NOPERM') return error
  const { lock, cause } = error
  return new StoreUnavailableError(error.message.replace(DEFAULT_RIGHTS, rightsBelow(start)), {
    code: 'STORE_AUTH',
    store: STORE_NAME,
    lock,
    cause,
    serverCode: 'NOPERM',
  })
}

/** What a server answers whose password is another one now. */
const LOGIN = new Set(['WRONGPASS', 'NOAUTH'])

/** Whether the server refused the login. ioredis rejects each command that waits for it so. */
export function isRefusedLogin(error: unknown): boolean {
  return LOGIN.has(SERVER_ERROR.exec(messageOf(error))?.[1] ?? '')
}

/**
 * Returns the error for a server that answered before. A login or a certificate that is not
 * accepted any more is an outage: the client may have the new one soon.
 */
export function afterSuccess(error: LockError): LockError {
  const { message, lock, cause, serverCode } = error as StoreUnavailableError
  if (!isCertificateError(cause) && !LOGIN.has(serverCode ?? '')) return error
  return new StoreUnavailableError(message, { store: STORE_NAME, lock, cause, serverCode })
}

/**
 * Returns the error for a subscription that the server refuses. Only time is lost.
 * @param start what stands before each key and channel of the store
 */
export function notHeard(error: unknown, start: string, lock?: string): LockError {
  const { message, code, cause } = withRights(explain(error, lock), start)
  const text = `${message} Locks work, but until then a waiter only asks again with each heartbeat.`
  return new StoreUnavailableError(text, {
    code: code as UnavailableCode,
    store: STORE_NAME,
    lock,
    cause,
  })
}

/** The error for connections that end whenever the client subscribes. */
export function noPubSub(): StoreUnavailableError {
  return new StoreUnavailableError(
    'Redis: The connection ends whenever the client subscribes to a channel, as with a proxy without pub/sub. ' +
      'Connect to the server itself.',
    { store: STORE_NAME },
  )
}

/** Whether a server refuses writes, since it is a replica. */
export function isReadOnly(error: LockError): boolean {
  return (error as Partial<StoreUnavailableError>).serverCode === 'READONLY'
}

/**
 * Returns the error for a server that refuses writes. Before the first write of a store its address
 * is wrong. After it the server has been replaced, and the store connects to its address again.
 */
export function readOnlyError(
  { message, lock, cause, serverCode }: StoreUnavailableError,
  hasWritten: boolean,
): StoreUnavailableError {
  const details = { lock, cause, serverCode, store: STORE_NAME }
  if (!hasWritten) return new StoreUnavailableError(message, { ...details, code: 'STORE_CONFIG' })
  return new StoreUnavailableError(
    'Redis: The server has become a read-only replica. The client connects to its address again, ' +
      'which leads to the primary once the failover is over.',
    details,
  )
}

/**
 * Whether a key of the lock belongs to another program. Other errors of the same code are about a
 * server that has no such keys.
 */
export function isForeign(error: LockError): boolean {
  const { serverCode } = error as Partial<StoreUnavailableError>
  return serverCode === 'FOREIGN' || serverCode === 'WRONGTYPE'
}

/** Returns the error of a whole call for one of its locks. */
function withLock(error: LockError, lock: string): LockError {
  if (error.lock !== undefined || !(error instanceof StoreUnavailableError)) return error
  const { message, store, cause, serverCode } = error
  return new StoreUnavailableError(message, {
    code: error.code as UnavailableCode,
    store,
    lock,
    cause,
    serverCode,
  })
}

function adviceFor(word: string | undefined): Advice {
  return unavailable(
    word === undefined
      ? 'Check that the server runs and can be reached, and that the client is connected.'
      : 'The server refused the command.',
  )
}

/** The connection broke under a request that must not arrive twice. */
export function inDoubt(lock?: string): StoreUnavailableError {
  return new StoreUnavailableError(
    'Redis: The connection broke, and what was sent over it may arrive a second time: the claim has to be withdrawn.',
    { lock, store: STORE_NAME },
  )
}

export function withdrawing(lock: string): StoreUnavailableError {
  return new StoreUnavailableError(
    'Redis: The client is withdrawing this claim, since an attempt that was refused may have arrived a second time.',
    { lock, store: STORE_NAME },
  )
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.message !== '') return error.message
  // Several addresses were tried, and each has an error of its own.
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.map(messageOf).join('; ')
  // Such as that of a TLS connection to a port without TLS.
  if (error.cause !== undefined) return messageOf(error.cause)
  const { code } = error as NodeJS.ErrnoException
  return code ?? error.name
}

/** What a script raised, or was refused inside, without what some versions put around it. */
function plain(text: string): string {
  const [, own = '', word = ''] =
    /^-?ERR (([A-Z]+) .*?)(?: script: [\da-f]+, on @user_script:\d+\.?)?$/s.exec(text) ?? []
  return ADVICE.has(word) ? own : text
}

/** Takes the credentials out of a URL. */
function redact(text: string): string {
  return text.replace(/(rediss?:\/\/)[^\s]*@/g, '$1***@')
}

function withoutSecrets(error: unknown, message: string): Error {
  const { name, code } = error instanceof Error ? (error as NodeJS.ErrnoException) : {}
  const cause = new Error(message)
  if (name !== undefined) cause.name = name
  return code === undefined ? cause : Object.assign(cause, { code })
}
