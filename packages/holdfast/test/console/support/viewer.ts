/** A console over a store in memory, in virtual time. */
import type { Locks, LocksOptions } from 'holdfast'
import type { Access } from 'holdfast/console'
import type { Store } from 'holdfast/store'
import { SeededRandom, testingStore, VirtualClock, type TestingStore } from 'holdfast/testing'
import { createLocks } from 'holdfast'
import { onTestFinished } from 'vitest'
import { authorizedBy } from '../../../dist/console/access/access-rule.js'
import { makeConsole, type ConsoleParts, type LocksConsole } from '../../../dist/console/console.js'
import type { ConsoleView } from '../../../dist/console/view.js'

export const URL_OF_CONSOLE = 'http://127.0.0.1:4000/locks'

export interface Viewer {
  readonly clock: VirtualClock
  readonly store: TestingStore
  readonly console: LocksConsole
  readonly log: string[]
  /** The client whose locks the console shows. */
  readonly own: Locks
  /** Whom `authorize` lets in from now on. */
  access: unknown
  /** A client of the store. */
  client(options?: LocksOptions): Locks
  /** Asks for a view. Time moves on until it is answered. */
  view(query?: Readonly<Record<string, string | number>>): Promise<ConsoleView>
  /** Sends any request. */
  send(path: string, init?: RequestInit): Promise<Response>
  /** Sends a POST as the page does. */
  post(body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>
}

export const ADMIN: Access = { user: 'ada', may: ['look', 'steal'] }

export function makeViewer(
  parts: Partial<ConsoleParts> = {},
  options: { readonly namespace?: string; readonly wrap?: (store: Store) => Store } = {},
): Viewer {
  const clock = new VirtualClock()
  const random = new SeededRandom(1)
  const store = testingStore({ clock })
  const { wrap = (same: Store) => same, namespace } = options
  const client = (more: LocksOptions = {}): Locks => createLocks(store, { clock, random, ...more })
  const locks = createLocks(wrap(store), {
    clock,
    random,
    ...(namespace === undefined ? {} : { namespace }),
  })
  const log: string[] = []
  const viewer: Viewer = {
    ...{ clock, store, log, own: locks, access: ADMIN, client },
    console: makeConsole({
      stores: new Map([['memory', { locks }]]),
      rule: authorizedBy(
        () => viewer.access as Access,
        (text) => log.push(text),
      ),
      log: (text) => log.push(text),
      ...{ clock, isReadOnly: false, refreshMs: 2_000, waitWarnMs: 30_000 },
      ...{ origin: undefined, onAction: undefined, title: 'Holdfast', environment: undefined },
      ...parts,
    }),
    async view(query = {}) {
      const params = new URLSearchParams()
      for (const [key, value] of Object.entries(query)) params.set(key, String(value))
      const answer = await viewer.send(`/api/view?${params.toString()}`)
      if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`)
      return (await answer.json()) as ConsoleView
    },
    send: (path, init) =>
      clock.until(viewer.console.fetch(new Request(`${URL_OF_CONSOLE}${path}`, init))),
    post: (body, headers = {}) =>
      viewer.send('/api/steal', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-holdfast-console': '1', ...headers },
        body: JSON.stringify(body),
      }),
  }
  onTestFinished(() => viewer.console.close())
  return viewer
}
