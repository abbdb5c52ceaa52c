/**
 * Sends commands to a Redis server over HTTP, each once.
 *
 * The client library would send a failed request again, behind the back of the store. Here each
 * request has one `fetch` and a time limit. A redirect is not followed: it could take the token to
 * another server.
 */
import type { Clock } from '../../../../../clock/clock.js'
import type { RestSettings } from './settings.js'

const SYNC_TOKEN = 'upstash-sync-token'
/** A refusal of the whole request, at the latest. */
const LONGEST_TEXT = 200

/** The server got the request, and refused it before anything was done. */
export class RestRefusal extends Error {}

export class RestEndpoint {
  readonly #settings: RestSettings
  readonly #limitMs: number
  readonly #clock: Clock
  /** What the server has answered so far. A replica that has not seen that may not answer. */
  #syncToken = ''

  /** @param limitMs how long an answer may take */
  constructor(settings: RestSettings, limitMs: number, clock: Clock) {
    this.#settings = settings
    this.#limitMs = limitMs
    this.#clock = clock
  }

  /**
   * Resolves to the result of a command.
   * @throws RestRefusal with the text of the server, which did nothing
   * @throws Error when the outcome is unknown
   */
  async send(command: readonly string[]): Promise<unknown> {
    const abort = new AbortController()
    const timer = this.#clock.timer(this.#limitMs, () => abort.abort(), true)
    try {
      const response = await this.#post('', command, abort.signal)
      this.#syncToken = response.headers.get(SYNC_TOKEN) ?? this.#syncToken
      return resultOf(response.status, await response.text())
    } catch (error) {
      if (error instanceof RestRefusal) throw error
      const late = abort.signal.aborted ? `No answer within ${this.#limitMs} ms` : undefined
      throw failure(error, late)
    } finally {
      timer.cancel()
    }
  }

  /** Opens a stream of the messages on a channel. Its end and its errors are the caller's. */
  async subscribe(channel: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const path = `/subscribe/${encodeURIComponent(channel)}`
    const headers = { accept: 'text/event-stream' }
    const response = await this.#post(path, ['SUBSCRIBE', channel], signal, headers)
    if (response.status === 200 && response.body) return response.body
    resultOf(response.status, await response.text())
    throw new RestRefusal('ERR The endpoint has no stream of messages')
  }

  #post(
    path: string,
    command: readonly string[],
    signal: AbortSignal,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const { url, token, fetch: send } = this.#settings
    return send(url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...(this.#syncToken === '' ? {} : { [SYNC_TOKEN]: this.#syncToken }),
        ...headers,
      },
      body: JSON.stringify(command),
      redirect: 'manual',
      signal,
      ...NO_CACHE,
    })
  }
}

/** Older dates of compatibility of Cloudflare's runtime refuse this option. */
const NO_CACHE = findNoCache() as RequestInit

function findNoCache(): { readonly cache?: string } {
  const option = { cache: 'no-store' }
  try {
    const request = new Request('http://localhost', option as RequestInit)
    return 'cache' in request && request.cache === option.cache ? option : {}
  } catch {
    return {}
  }
}

/** An answer of the server itself is JSON. Any other comes from something in between. */
function resultOf(status: number, text: string): unknown {
  if (status === 401 || status === 403)
    throw new RestRefusal('BADTOKEN The endpoint refuses the token')
  if (status === 429)
    throw new RestRefusal('ERR The endpoint limits the number of requests (HTTP 429)')
  if (status === 0 || (status >= 300 && status < 400))
    throw new RestRefusal('ERR The endpoint redirects elsewhere, which is not followed')
  const answer = parsed(text)
  if (status >= 500 || !answer) throw new Error(`The endpoint answered HTTP ${status}`)
  if (typeof answer.error === 'string')
    throw new RestRefusal(withoutCommand(answer.error).slice(0, LONGEST_TEXT))
  if (status === 200 && 'result' in answer) return answer.result
  throw new Error(`The endpoint answered HTTP ${status}`)
}

function parsed(text: string): { error?: unknown; result?: unknown } | undefined {
  try {
    const answer: unknown = JSON.parse(text)
    return typeof answer === 'object' && answer !== null ? answer : undefined
  } catch {
    return undefined
  }
}

/** A command has the names of locks and owners, which do not belong into a log. */
function withoutCommand(text: string): string {
  return text.replace(/,? command was:.*$/s, '')
}

/** The text of `fetch` only says that it failed. */
function failure(error: unknown, late: string | undefined): Error {
  const reason: unknown =
    error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (!(reason instanceof Error)) return new Error(late ?? String(reason))
  const { code, message } = reason as NodeJS.ErrnoException
  const text = late ?? (message === '' ? (code ?? 'fetch failed') : message)
  return Object.assign(new Error(text, { cause: error }), code === undefined ? {} : { code })
}
