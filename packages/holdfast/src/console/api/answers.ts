/** The answers of the console, with the headers that keep a browser from misusing them. */
import { createHash } from 'node:crypto'
import { PAGE } from '../page.generated.js'
import type { ApiFailure } from '../access/failure.js'

const HEADERS = {
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}
const NOTHING_RUNS =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function pageAnswer(): Response {
  return answer(200, PAGE.html, {
    'content-security-policy': PAGE.csp,
    'content-type': 'text/html; charset=utf-8',
  })
}

export function jsonAnswer(
  status: number,
  value: object,
  headers: Record<string, string> = {},
): Response {
  return answer(status, JSON.stringify(value), {
    'content-security-policy': NOTHING_RUNS,
    'content-type': 'application/json; charset=utf-8',
    ...headers,
  })
}

/** Answers with 304 where the client has this view already. */
export function taggedAnswer(request: Request, value: object): Response {
  const text = JSON.stringify(value)
  const etag = `"${createHash('sha1').update(text).digest('base64url')}"`
  const known = request.headers.get('if-none-match') ?? ''
  const headers = { 'content-security-policy': NOTHING_RUNS, etag }
  // Proxies that compress an answer make its tag a weak one.
  if (known.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag))
    return answer(304, null, headers)
  return answer(200, text, { ...headers, 'content-type': 'application/json; charset=utf-8' })
}

export function failureAnswer(failure: ApiFailure): Response {
  const { status } = failure
  const headers: Record<string, string> = status === 401 ? { 'www-authenticate': 'Bearer' } : {}
  return jsonAnswer(status, failure.body, headers)
}

function answer(status: number, body: string | null, headers: Record<string, string>): Response {
  return new Response(body, { status, headers: { ...HEADERS, ...headers } })
}
