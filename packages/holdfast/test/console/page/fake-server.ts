/** Serves the built page with scripted views, as the console's server would. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PAGE } from '../../../dist/console/page.generated.js'
import type {
  ActionView,
  ApiError,
  ConsoleView,
  LockView,
  Row,
  StealRequest,
} from '../../../dist/console/view.js'

export interface FakeConsole {
  readonly origin: string
  /** What is shown from now on. */
  view: ConsoleView
  locks: Map<string, LockView>
  /** The token that requests need, where they need one. */
  token?: string | undefined
  /** Each answer of the API is this refusal. */
  refusal?: 401 | 403 | 302 | 500 | undefined
  /** What a steal leads to. */
  stealAnswer: Partial<ActionView> | ApiError
  /** The queries of all requests for a view, and the statuses of their answers. */
  readonly asked: { readonly query: URLSearchParams; readonly status: number }[]
  readonly steals: StealRequest[]
  /** Stops to accept connections, until `resume`. */
  pause(): Promise<void>
  resume(): Promise<void>
  close(): Promise<void>
}

export async function startFakeConsole(view: ConsoleView): Promise<FakeConsole> {
  const server = createServer((request, response) => void answer(fake, request, response))
  const listen = (port: number): Promise<void> =>
    new Promise((resolve) => void server.listen(port, '127.0.0.1', resolve))
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  await listen(0)
  const { port } = server.address() as AddressInfo
  const fake: FakeConsole = {
    origin: `http://127.0.0.1:${port}`,
    view,
    locks: new Map(),
    stealAnswer: { outcome: 'stolen', freeInMs: 21_000 },
    asked: [],
    steals: [],
    pause: close,
    resume: () => listen(port),
    close,
  }
  return fake
}

async function answer(
  fake: FakeConsole,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', fake.origin)
  if (url.pathname.endsWith('/api/view'))
    return answerView(fake, url.searchParams, request, response)
  if (url.pathname.endsWith('/api/steal')) return answerSteal(fake, request, response)
  response
    .writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': PAGE.csp,
      'cache-control': 'no-store',
    })
    .end(PAGE.html)
}

function answerView(
  fake: FakeConsole,
  query: URLSearchParams,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { refusal, token } = fake
  const isWrong = token !== undefined && request.headers.authorization !== `Bearer ${token}`
  const text = JSON.stringify(cut(fake, query))
  const etag = `"${createHash('sha1').update(text).digest('hex')}"`
  const isSame = request.headers['if-none-match'] === etag
  const status = refusal ?? (isWrong ? 401 : isSame ? 304 : 200)
  fake.asked.push({ query, status })
  if (status === 302) return void response.writeHead(302, { location: '/sign-in' }).end()
  const body = status === 200 ? text : JSON.stringify(errorOf(status))
  const { nowMs, store } = fake.view
  const headers = {
    'content-type': 'application/json',
    etag,
    'cache-control': 'no-store',
    // The clock of the scripted views stands still.
    date: new Date(nowMs + store.ageMs).toUTCString(),
  }
  response.writeHead(status, headers).end(status === 304 ? undefined : body)
}

function errorOf(status: number): ApiError {
  return { error: { code: `STATUS_${status}`, message: `The fake answers ${status}.` } }
}

/** Searches and sorts as the server does, and cuts the window. */
function cut({ view, locks }: FakeConsole, query: URLSearchParams): ConsoleView {
  const search = query.get('search') ?? ''
  const sort = query.get('sort') ?? 'wait'
  const offset = Number(query.get('offset') ?? 0)
  const limit = Number(query.get('limit') ?? 100)
  const name = query.get('lock')
  const found = view.table.rows
    .filter((row) => search === '' || wordsOf(row).includes(search))
    .toSorted(sort === 'name' ? (a, b) => (a.lock < b.lock ? -1 : 1) : () => 0)
  return {
    ...view,
    ...(name !== null && { lock: locks.get(name) ?? lockOf(view.table.rows, name) }),
    table: {
      sort: sort as ConsoleView['table']['sort'],
      search,
      offset,
      total: found.length,
      rows: found.slice(offset, offset + limit),
    },
  }
}

function wordsOf({ lock, holders }: Row): string {
  const owners = holders.map(({ owner: { host, pid, label } }) => `${host} ${pid} ${label ?? ''}`)
  return [lock, ...owners].join(' ')
}

function lockOf(rows: readonly Row[], name: string): LockView | null {
  const row = rows.find(({ lock }) => lock === name)
  if (row === undefined) return null
  return {
    lock: name,
    kind: row.kind,
    isFree: row.holderCount === 0,
    holders: row.holders,
    waiters: [],
    waiterCount: row.waiterCount,
    ageMs: 0,
    commands: [{ about: 'inspect', command: `holdfast inspect '${name}'` }],
    chain: [],
    history: [],
    historySinceMs: 60_000,
  }
}

async function answerSteal(
  fake: FakeConsole,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  const isRight =
    request.headers['content-type'] === 'application/json' &&
    request.headers['x-holdfast-console'] === '1'
  const asked = JSON.parse(text) as StealRequest
  fake.steals.push(asked)
  const isRefused = !isRight || 'error' in fake.stealAnswer
  const action = {
    atMs: fake.view.nowMs,
    user: fake.view.user,
    store: fake.view.store.name,
    action: asked.now ? 'steal-now' : 'steal',
    lock: asked.lock,
    claimId: asked.claimId,
    reason: asked.reason,
    ...fake.stealAnswer,
  }
  response.writeHead(isRefused ? 403 : 200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(isRefused ? fake.stealAnswer : action))
}
