/** `locksConsole`: a page that shows the locks of a store, for an application of your own. */
import { systemClock, type Clock } from '../clock/clock.js'
import type { AccessRule } from './access/access-rule.js'
import { authorizedBy } from './access/access-rule.js'
import { Audit, type ActionListener } from './actions/audit.js'
import { Handler } from './api/handler.js'
import { answerNode, type NodeRequest, type NodeResponse } from './api/node-bridge.js'
import { listenToOwnEvents } from './history/own-events.js'
import { logOnce } from './log-once.js'
import { checkOptions, storesOf, type ConsoleOptions } from './options.js'
import { ShownStore, type StoreSource } from './shown-store.js'

/** A console. `locksConsole` makes it. */
export interface LocksConsole {
  /**
   * Answers a request. `authorize` gets the context, such as the request of a framework with its
   * session.
   */
  fetch(request: Request, context?: unknown): Promise<Response>
  /** Answers a request of `node:http`, as Express passes it. `authorize` gets it as context. */
  node(req: NodeRequest, res: NodeResponse): void
  /** Ends the looks at the store. It closes no locks. */
  close(): Promise<void>
}

/** What makes a console, checked. */
export interface ConsoleParts {
  readonly stores: ReadonlyMap<string, StoreSource>
  readonly rule: AccessRule
  readonly log: (text: string) => void
  readonly clock: Clock
  readonly isReadOnly: boolean
  readonly refreshMs: number
  readonly waitWarnMs: number
  readonly origin: string | undefined
  readonly onAction: ActionListener | undefined
  readonly title: string
  readonly environment: string | undefined
}

export const REFRESH_MS = 2_000
export const WAIT_WARN_MS = 30_000
export const TITLE = 'Holdfast'

/**
 * Makes a console: a page that shows who holds and who waits, what is wrong, and what may be done.
 *
 * @example
 * const page = locksConsole({
 *   locks,
 *   authorize: (request, { session }) => session.isAdmin && { user: session.user, may: ['look'] },
 * })
 * app.use('/locks', (req, res) => page.node(req, res))
 *
 * @throws LockUsageError when an option makes no sense.
 */
export function locksConsole(options: ConsoleOptions): LocksConsole {
  checkOptions(options)
  const { readOnly = true, authorize, origin, onAction, environment } = options
  const { refreshMs = REFRESH_MS, waitWarnMs = WAIT_WARN_MS, title = TITLE } = options
  const stores = [...storesOf(options.locks)].map(([name, locks]) => [name, { locks }] as const)
  const log = logOnce()
  return makeConsole({
    stores: new Map(stores),
    rule: authorizedBy(authorize, log),
    ...{ log, clock: systemClock, isReadOnly: readOnly, refreshMs, waitWarnMs },
    ...{ origin, onAction, title, environment },
  })
}

export function makeConsole(parts: ConsoleParts): LocksConsole {
  const { clock, log, refreshMs, waitWarnMs, isReadOnly, title, environment, rule, origin } = parts
  const times = { clock, refreshMs, waitWarnMs }
  const shown = [...parts.stores].map(
    ([name, source]) => [name, new ShownStore(name, source, times)] as const,
  )
  const stores = new Map(shown)
  const frame = { title, environment, stores: [...stores.keys()] }
  const handler = new Handler({
    ...{ stores, rule, origin, clock, log, audit: new Audit(parts.onAction, log) },
    frame: { ...frame, isReadOnly, refreshMs, waitWarnMs },
  })
  const stop = listenToOwnEvents((clientId) => {
    const own = shown.find(([, { source }]) => source.locks.clientId === clientId)
    return own?.[1].ownEvents
  })
  const fetch = (request: Request, context?: unknown): Promise<Response> =>
    handler.answer(request, context)
  return {
    fetch,
    node: (req, res) =>
      void answerNode(fetch, req, res).catch((error: unknown) => log(String(error))),
    async close() {
      handler.isClosed = true
      stop()
      for (const store of stores.values()) store.close()
    },
  }
}
