/**
 * Turns an error of the library into advice for an operator. The library speaks to programmers, of
 * clients, pools and options. An operator has a URL, a server and this command line.
 */
import type { ErrorCode } from '../exit-codes.js'

/** A sentence with one of these words speaks to a programmer. */
const FOR_PROGRAMMERS =
  /\b(?:client|pool|autoMigrate|waitMs|requestTimeoutMs|createLocks|lease\.\w+\(|locks\.\w+\(|\w+Schema\(\)|\w+Store\()/

/** Advice instead of a dropped sentence that matches. The first match counts. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/migrate/, 'Run: holdfast migrate --store URL'],
  [/lease\.export/, 'Write the handle that holdfast acquire printed, unchanged.'],
  [/read-only replica/, 'The URL names a read-only replica. Write the URL of the primary.'],
  [/authority/, 'Put the certificate of the authority that signed it into the URL.'],
  [/Cluster/, 'The server is a member of a Cluster. Write redis+cluster: in the URL.'],
]

export function operatorText(message: string, code: ErrorCode, store: string | undefined): string {
  const sentences = message.split(/(?<=[.!?]) (?=[A-Z])/)
  const kept = sentences.filter((sentence) => !FOR_PROGRAMMERS.test(sentence))
  if (kept.length === sentences.length) return message
  const dropped = sentences.filter((sentence) => FOR_PROGRAMMERS.test(sentence)).join(' ')
  if (kept.length === 0) kept.push(summaryOf(code, store))
  const advice = ADVICE.find(([pattern]) => pattern.test(dropped))?.[1] ?? adviceFor(code, store)
  return advice === undefined ? kept.join(' ') : [...kept, advice].join(' ')
}

function summaryOf(code: ErrorCode, store = 'chosen'): string {
  if (code === 'STORE_AUTH') return `The ${store} store refused this user.`
  return `The ${store} store refused the request.`
}

function adviceFor(code: ErrorCode, store: string | undefined): string | undefined {
  if (code === 'STORE_UNAVAILABLE')
    return 'Check that the server runs and that this machine reaches it: holdfast doctor.'
  if (code === 'STORE_CONFIG') return 'Check the server: holdfast doctor.'
  if (code !== 'STORE_AUTH') return undefined
  return store === 'redis' || store === 'redlock'
    ? 'Put the right user and password into the URL, a file (?passwordFile=), or HOLDFAST_REDIS_PASSWORD.'
    : 'Put the right user and password into the URL.'
}
