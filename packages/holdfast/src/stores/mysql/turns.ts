/** Calls of the procedures that do what clients ask for, and what they give back. */
import type { Answer, Answers, Request } from '../sql/requests.js'
import { hexOf } from './names.js'

export interface Call {
  readonly sql: string
  readonly values: readonly string[]
  /** In the order that the procedure knows them in. */
  readonly requests: readonly Request[]
}

/** One request that was served in a short way, by its place, which begins at 1. */
interface Served {
  readonly place: number
  readonly token: string
}
/** The answers to the others, in their order, as JSON. */
interface Others {
  readonly answers: string
}

/** What may be served in a short way: see rule/plain.ts. */
const PLAIN: ReadonlySet<string> = new Set<Request['verb']>(['attempt', 'renew', 'withdraw'])

/** Locks are sorted in the same way by every client, so that no two wait for each other's rows. */
export function callOf(prefix: string, requests: readonly Request[]): Call {
  const [first] = requests
  if (first && requests.length === 1 && PLAIN.has(first.verb)) return callOfOne(prefix, first)
  const names = [...new Set(requests.map(({ lock }) => hexOf(lock)))].sort()
  const apart = names.length === requests.length && requests.some(({ verb }) => PLAIN.has(verb))
  const ordered = apart
    ? requests.toSorted((a, b) => (hexOf(a.lock) < hexOf(b.lock) ? -1 : 1))
    : requests
  return {
    sql: `call ${prefix}turn_2(?, ?, ?)`,
    values: [JSON.stringify(names), opsOf(ordered), apart ? '1' : '0'],
    requests: ordered,
  }
}

function opsOf(requests: readonly Request[]): string {
  return JSON.stringify(requests.map((request) => ({ ...request, lock: hexOf(request.lock) })))
}

function callOfOne(prefix: string, request: Request): Call {
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
    sql: `call ${prefix}one_2(?, unhex(?), ?, ?, ?, ?, ?, ?, ?, ?)`,
    values: [
      verb,
      hexOf(lock),
      String(id),
      String(owner),
      String(kind),
      ...numbers,
      opsOf([request]),
    ],
    requests: [request],
  }
}

/**
 * The answers to requests, in their order, from the results of the call that `callOf` made of them.
 */
export function answersOf(results: unknown, call: Call, requests: readonly Request[]): Answers {
  const rows = (results as unknown[]).filter(Array.isArray).flat() as (Served | Others)[]
  const [[row], [request]] = [rows, requests]
  // Most calls are for one.
  if (row && request && requests.length === 1 && 'token' in row)
    return [servedAnswer(request, row.token)]
  const served = new Map(rows.flatMap((row) => ('token' in row ? [[row.place, row.token]] : [])))
  const others = rows.flatMap((row) =>
    'answers' in row ? (JSON.parse(row.answers) as Answer[]) : [],
  )
  const answers = new Map<Request, Answer>()
  call.requests.forEach((request, index) => {
    const token = served.get(index + 1)
    const answer = token === undefined ? others.shift() : servedAnswer(request, token)
    if (answer) answers.set(request, answer)
  })
  return requests.map((request) => answers.get(request))
}

function servedAnswer({ verb, tokens, ttlMs }: Request, token: string): Answer {
  if (verb === 'attempt')
    return { outcome: 'granted', existing: 0, token, tokens, ttlMs, remainingMs: ttlMs }
  return { outcome: verb === 'renew' ? 'renewed' : 'released' }
}
