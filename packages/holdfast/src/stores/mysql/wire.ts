/** Requests as calls of procedures or as plain statements, and their answers. */
import type { Answer, Answers, Request } from '../sql/wire.js'
import { hexOf } from './keys.js'

export interface ProcedureCall {
  readonly sql: string
  readonly values: readonly string[]
  /** In the order in which the procedure gets them. */
  readonly requests: readonly Request[]
}

/** One request that took a fast path, by its position, which starts at 1. */
interface FastRow {
  readonly position: number
  readonly token: string
}
/** The answers to the other requests, in their order, as JSON. */
interface GeneralRow {
  readonly answers: string
}

/** What may take a fast path: see rule/apply-fast.sql. */
const FAST_VERBS: ReadonlySet<string> = new Set<Request['verb']>(['attempt', 'renew', 'withdraw'])

function isFast({ verb, keepsEnd }: Request): boolean {
  return FAST_VERBS.has(verb) && keepsEnd !== true
}

/**
 * Returns the call that applies these requests. Every client sorts locks in the same way, so no two
 * calls wait for each other's rows.
 */
export function callOf(prefix: string, requests: readonly Request[]): ProcedureCall {
  const [first] = requests
  if (first && requests.length === 1 && isFast(first)) return callOfOne(prefix, first)
  const names = [...new Set(requests.map(({ lock }) => hexOf(lock)))].sort()
  const apart =
    names.length === requests.length &&
    requests.some(isFast) &&
    // The fast path would start the TTL again.
    !requests.some(({ keepsEnd }) => keepsEnd === true)
  const ordered = apart
    ? requests.toSorted((a, b) => (hexOf(a.lock) < hexOf(b.lock) ? -1 : 1))
    : requests
  return {
    sql: `call ${prefix}apply_batch_v1(?, ?, ?)`,
    values: [JSON.stringify(names), requestsAsJson(ordered), apart ? '1' : '0'],
    requests: ordered,
  }
}

function requestsAsJson(requests: readonly Request[]): string {
  return JSON.stringify(requests.map((request) => ({ ...request, lock: hexOf(request.lock) })))
}

function callOfOne(prefix: string, request: Request): ProcedureCall {
  const {
    verb,
    lock,
    id,
    owner = '',
    kind = 'mutex',
    capacity = 1,
    weight = 0,
    tokens = 0,
    ttlMs,
  } = request
  const numbers = [capacity, weight, tokens, ttlMs].map(String)
  return {
    sql: `call ${prefix}apply_one_v1(?, unhex(?), ?, ?, ?, ?, ?, ?, ?, ?)`,
    values: [
      verb,
      hexOf(lock),
      String(id),
      String(owner),
      String(kind),
      ...numbers,
      requestsAsJson([request]),
    ],
    requests: [request],
  }
}

/** What means the same between quotes in every mode and character set. */
const SAFE = /^[\w .,:[\]{}"@+-]*$/

/**
 * Returns a call as text, as for releases. Undefined for values that depend on the mode of the
 * session.
 */
export function asText({ sql, values }: ProcedureCall): string | undefined {
  if (!values.every((value) => SAFE.test(value))) return undefined
  const rest = [...values]
  return sql.replaceAll('?', () => `'${rest.shift() ?? ''}'`)
}

/** Names a slot of a schedule: the procedure forgets earlier slots, too. */
const SLOT = '@tick:'

/** Whether a plain statement can serve a request: see rule/plain-attempt.sql. */
export function isPlain({ verb, lock, weight, capacity }: Request): boolean {
  if (verb === 'withdraw') return true
  return verb === 'attempt' && Number(weight) <= Number(capacity) && !lock.includes(SLOT)
}

/** Returns the values for rule/plain-attempt.sql or rule/plain-release.sql. */
export function plainValues(request: Request): string[] {
  const { verb, lock, id, ttlMs } = request
  if (verb === 'withdraw') return [String(ttlMs), hexOf(lock), String(id)]
  return [...termsOf(request), hexOf(lock), String(id)]
}

function termsOf({ kind, capacity, id, owner, weight, tokens, ttlMs }: Request): string[] {
  const [ttl, count] = [String(ttlMs), String(tokens)]
  return [
    String(kind),
    String(capacity),
    String(id),
    String(owner),
    String(weight),
    count,
    ttl,
    ttl,
    count,
  ]
}

/** Returns the values for rule/plain-retake.sql. */
export function retakeValues(release: Request, attempt: Request): string[] {
  const { lock, id } = attempt
  return [...termsOf(attempt), hexOf(lock), String(release['id']), String(id)]
}

/** @param insertId the last token of a grant */
export function plainAnswer(
  request: Request,
  { insertId }: { readonly insertId: number | string },
): Answer {
  if (request.verb !== 'attempt') return fastAnswer(request, '')
  return fastAnswer(request, String(BigInt(insertId) - BigInt(Number(request['tokens'])) + 1n))
}

/** Returns the answers to requests, in their order, from the results of their call. */
export function answersOf(
  results: unknown,
  call: ProcedureCall,
  requests: readonly Request[],
): Answers {
  const rows = (results as unknown[]).filter(Array.isArray).flat() as (FastRow | GeneralRow)[]
  const [[row], [request]] = [rows, requests]
  // Most calls are for one request.
  if (row && request && requests.length === 1 && 'token' in row)
    return [fastAnswer(request, row.token)]
  const tokens = new Map(rows.flatMap((row) => ('token' in row ? [[row.position, row.token]] : [])))
  const others = rows.flatMap((row) =>
    'answers' in row ? (JSON.parse(row.answers) as Answer[]) : [],
  )
  const answers = new Map<Request, Answer>()
  call.requests.forEach((request, index) => {
    const token = tokens.get(index + 1)
    const answer = token === undefined ? others.shift() : fastAnswer(request, token)
    if (answer) answers.set(request, answer)
  })
  return requests.map((request) => answers.get(request))
}

function fastAnswer({ verb, tokens, ttlMs }: Request, token: string): Answer {
  if (verb === 'attempt')
    return {
      outcome: 'granted',
      existing: 0,
      atOnce: true,
      token,
      tokens,
      ttlMs,
      remainingMs: ttlMs,
    }
  return { outcome: verb === 'renew' ? 'renewed' : 'released' }
}
