/** Answers the requests of the page. Routes are decided by the end of the path. */
import type { Clock } from '../../clock/clock.js'
import { settlesWithin } from '../../clock/settles-within.js'
import { checkName } from '../../store/names.js'
import type { AccessRule } from '../access/access-rule.js'
import type { Grant } from '../access/access.js'
import { ApiFailure } from '../access/failure.js'
import { checkOrigin } from '../access/origin.js'
import { Sight } from '../access/sight.js'
import type { Audit } from '../actions/audit.js'
import { readStealRequest } from '../actions/steal-request.js'
import { stealClaim } from '../actions/steal.js'
import type { ShownStore } from '../shown-store.js'
import { failureAnswer, jsonAnswer, pageAnswer, taggedAnswer } from './answers.js'
import { checkPost, readJson } from './body.js'
import { consoleView, type ViewFrame } from './console-view.js'
import { readQuery, type ViewQuery } from './query.js'

export interface HandlerParts {
  /** By name. The first one is shown unless the query names another. */
  readonly stores: ReadonlyMap<string, ShownStore>
  readonly rule: AccessRule
  readonly audit: Audit
  readonly frame: Omit<ViewFrame, 'actions'>
  readonly origin: string | undefined
  readonly clock: Clock
  readonly log: (text: string) => void
}

/** How long a view waits for a store before it shows what is known. */
const WAIT_MS = 60

type Route = 'view' | 'steal' | 'page'

export class Handler {
  readonly #parts: HandlerParts
  isClosed = false

  constructor(parts: HandlerParts) {
    this.#parts = parts
  }

  /** Answers a request. Never rejects. */
  async answer(request: Request, context: unknown): Promise<Response> {
    try {
      if (this.isClosed) throw new ApiFailure(503, 'CLOSED', 'The console was closed.')
      return await this.#route(request, context)
    } catch (error) {
      if (error instanceof ApiFailure) return failureAnswer(error)
      this.#parts.log(`A request failed: ${error instanceof Error ? error.stack : String(error)}`)
      return failureAnswer(new ApiFailure(500, 'INTERNAL', 'The request failed. The log has more.'))
    }
  }

  async #route(request: Request, context: unknown): Promise<Response> {
    const url = new URL(request.url)
    const route = routeOf(url.pathname)
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (isRead === (route === 'steal'))
      throw new ApiFailure(405, 'METHOD', `${request.method} is not allowed here.`)
    if (!isRead && request.method !== 'POST')
      throw new ApiFailure(405, 'METHOD', `${request.method} is not allowed.`)
    const { rule, origin } = this.#parts
    if (route === 'page') {
      if (rule.guardsPage) await rule.grantFor(request, context)
      return pageAnswer()
    }
    checkOrigin(request, origin)
    if (route === 'steal') checkPost(request)
    const grant = await rule.grantFor(request, context)
    if (route === 'steal') return this.#steal(request, grant)
    return this.#view(request, readQuery(url.searchParams), grant)
  }

  async #view(request: Request, query: ViewQuery, grant: Grant): Promise<Response> {
    if (!grant.may.includes('look'))
      throw new ApiFailure(403, 'FORBIDDEN', `${grant.user} may not look.`)
    const { frame, audit } = this.#parts
    const store = this.#store(query.store)
    const sight = new Sight(grant.prefix)
    const isLockKnown = await this.#ask(store, sight, query)
    if (query.search !== '') await store.prepareSearch(sight)
    const viewer = { grant, sight, query, isLockKnown }
    return taggedAnswer(request, consoleView(store, { ...frame, actions: audit.actions }, viewer))
  }

  /**
   * Asks for what is not known yet, and waits for a moment. Resolves to whether the state of the
   * lock in the query is known.
   */
  async #ask(store: ShownStore, sight: Sight, { lock, search }: ViewQuery): Promise<boolean> {
    const { looks } = store
    const searched = search === '' ? [] : store.namesFor(search)
    const wanted = lock === undefined ? searched : [lock, ...searched]
    const names = wanted.filter((name) => sight.sees(name) && isName(name))
    if (lock !== undefined && names.includes(lock)) looks.want([lock])
    const old = names.filter((name) => !looks.isRecent(name))
    let hasAnswer = old.length === 0
    const answered = hasAnswer ? undefined : looks.ask(old).then((is) => (hasAnswer = is))
    const viewed = Promise.all([looks.view(), answered])
    await settlesWithin(viewed, WAIT_MS, { clock: this.#parts.clock, background: true })
    return hasAnswer || (lock !== undefined && looks.known.get(lock) !== undefined)
  }

  async #steal(request: Request, grant: Grant): Promise<Response> {
    const { frame, audit, clock } = this.#parts
    const asked = readStealRequest(await readJson(request))
    const attempt = { request: asked, grant, isReadOnly: frame.isReadOnly, wallMs: clock.wallMs() }
    return jsonAnswer(200, await stealClaim(this.#store(asked.store), audit, attempt))
  }

  #store(name: string | undefined): ShownStore {
    const { stores } = this.#parts
    const [first] = stores.values()
    const store = name === undefined ? first : stores.get(name)
    if (store) return store
    throw new ApiFailure(404, 'NO_SUCH_STORE', 'There is no such store.')
  }
}

/** Mounts that remove their prefix and mounts that do not behave alike. */
function routeOf(path: string): Route {
  const [, name] = /\/api\/(view|steal)\/?$/.exec(path) ?? []
  return name === 'view' || name === 'steal' ? name : 'page'
}

function isName(text: string): boolean {
  try {
    checkName(text)
    return true
  } catch {
    return false
  }
}
