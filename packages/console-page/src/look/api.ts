/** Asks the server of the console. The addresses follow from that of the page. */
import type {
  ActionView,
  ApiError,
  ConsoleView,
  StealRequest,
} from '../../../holdfast/src/console/view.js'

export type Answer =
  | {
      readonly kind: 'view'
      readonly view: ConsoleView
      readonly etag: string | undefined
      readonly ageMs: number
    }
  | { readonly kind: 'same' }
  | { readonly kind: 'signed-out' | 'forbidden' }
  | { readonly kind: 'failed'; readonly message: string }

export type StealAnswer =
  | { readonly kind: 'done'; readonly action: ActionView }
  | { readonly kind: 'refused' | 'failed'; readonly message: string }

const TIMEOUT_MS = 10_000

export class Api {
  constructor(readonly token: string | undefined) {}

  async view(query: string, etag: string | undefined, cancelled: AbortSignal): Promise<Answer> {
    try {
      const response = await fetch(addressOf('api/view') + query, {
        headers: this.#headers(etag === undefined ? {} : { 'if-none-match': etag }),
        // A sign-in page must not be taken for an answer.
        redirect: 'manual',
        cache: 'no-store',
        signal: AbortSignal.any([cancelled, AbortSignal.timeout(TIMEOUT_MS)]),
      })
      return await answerOf(response)
    } catch (error) {
      return { kind: 'failed', message: messageOf(error) }
    }
  }

  async steal(request: StealRequest): Promise<StealAnswer> {
    try {
      const response = await fetch(addressOf('api/steal'), {
        method: 'POST',
        headers: this.#headers({ 'content-type': 'application/json', 'x-holdfast-console': '1' }),
        body: JSON.stringify(request),
        redirect: 'manual',
        signal: AbortSignal.timeout(3 * TIMEOUT_MS),
      })
      if (response.ok) return { kind: 'done', action: (await response.json()) as ActionView }
      const refusal = (await response.json()) as Partial<ApiError>
      return { kind: 'refused', message: refusal.error?.message ?? String(response.status) }
    } catch (error) {
      return { kind: 'failed', message: messageOf(error) }
    }
  }

  #headers(others: Record<string, string>): Record<string, string> {
    return {
      accept: 'application/json',
      ...others,
      ...(this.token !== undefined && { authorization: `Bearer ${this.token}` }),
    }
  }
}

async function answerOf(response: Response): Promise<Answer> {
  if (response.status === 304) return { kind: 'same' }
  // Sign-in pages are redirects, which a request by script cannot follow to their form.
  if (response.status === 401 || response.type === 'opaqueredirect') return { kind: 'signed-out' }
  if (response.status === 403) return { kind: 'forbidden' }
  if (!response.ok) return { kind: 'failed', message: await refusalOf(response) }
  const view = (await response.json()) as ConsoleView
  // The server wrote the view at its last look, which may be long ago while the store is away.
  const sentMs = Date.parse(response.headers.get('date') ?? '')
  const ageMs = Math.max(view.store.ageMs, Number.isNaN(sentMs) ? 0 : sentMs - view.nowMs)
  return { kind: 'view', view, etag: response.headers.get('etag') ?? undefined, ageMs }
}

async function refusalOf(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as Partial<ApiError>
    return error?.message ?? `HTTP ${response.status}`
  } catch {
    return `HTTP ${response.status}`
  }
}

/** Works with and without the last slash of the page's own address. */
function addressOf(route: string): string {
  return `${location.pathname.replace(/\/+$/, '')}/${route}`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
