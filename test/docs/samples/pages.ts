/** The pages with samples, and how the programs on them run. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { STORES } from '@holdfast/stores'
import type { StoreDescriptor } from '@holdfast/stores/descriptor'
import { blocksOf, ROOT } from './blocks.js'

export interface Page {
  readonly path: string
  /** The stores whose servers its program needs. Without them it is compiled, and does not run. */
  readonly servers?: readonly string[]
  /** The URL of the store behind the `locks` that the samples of the page take for granted. */
  readonly locks?: 'embedded:' | 'postgres:'
  /** Each sample is a program of its own, where others are one program together. */
  readonly apart?: boolean
  /** What the program does at its end, to use what the samples made. */
  readonly end?: string
  /** Its jobs, which are due at night, are due soon here. */
  readonly ticksSoon?: boolean
  /** Its JavaScript has parameters without types: it runs, and is not compiled. */
  readonly untyped?: boolean
  /** Why the program is compiled, and does not run here. */
  readonly runsElsewhere?: string
}

const TAKE_ONE_LOCK = `await locks.mutex('sample').run(work)`
const CALL_BACK = `
  const callback = await fetch(\`\${await app.getUrl()}/payments/callback\`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': '42' },
    body: '{"amount":5}',
  })
  if ((await callback.text()) !== '{"charged":"42","amount":5}') throw new Error('not charged')
  await app.close()`
const PAY = `
const paid = await app.inject({ method: 'POST', url: '/orders/7/pay' })
if (paid.body !== '{"paid":true}') throw new Error(paid.body)
await app.close()`
const RECEIVE_SIGTERM = `for (const listener of process.listeners('SIGTERM')) await listener('SIGTERM')`
const AWAIT_A_TICK = `
const { setTimeout: pause } = await import('node:timers/promises')
for (let ran = false; !ran; await pause(50))
  for (const { lock, holders } of (await locks.inspect()).locks)
    ran ||= lock.startsWith('reports:nightly@tick:') && holders[0]?.owner.pid === process.pid
// A listener may end its program, before the end of the test.
const { exit } = process
process.exit = () => undefined
${RECEIVE_SIGTERM}
process.exit = exit`

const TESTS = 'testing-page.test.ts compiles its files and runs its tests'
const HANDLERS = 'serverless.test.ts of the Redis store runs its handlers'
const FILES = 'commands.test.ts saves and runs its files'
const USE_OBJECT_STORE = `const { tryObjectStore } = await import('./object-store.mjs')
await tryObjectStore(fencedPut)`
const REQUEST = `await new Promise((resolve) => server.listen(0, resolve))
const request = () => fetch('http://127.0.0.1:' + server.address().port, { headers: { 'x-user': 'a' } })
const statuses = await Promise.all([request(), request()])
if (statuses.some(({ status }) => status !== 204)) throw new Error(statuses[0].status)`

const SEE_THE_LOCKS = `
await new Promise((resolve) => server.listen(0, resolve))
const view = await fetch('http://127.0.0.1:' + server.address().port + '/locks/api/view', {
  headers: { 'x-session': 'a-session' },
})
if ((await view.json()).user !== 'ada') throw new Error(view.status)
await shutDown()`

const GUIDE = [
  'events',
  'kinds-of-lock',
  'leases',
  'nesting',
  'once-per-tick',
  'passing-a-lease',
  'urls',
  'waiting',
]

export const PAGES: readonly Page[] = [
  { path: 'README.md', servers: ['redis'] },
  { path: 'docs/README.md', servers: ['redis'] },
  { path: 'docs/guide/inspect-and-steal.md' },
  { path: 'packages/holdfast/README.md', servers: ['redis'] },
  {
    path: 'packages/conformance/README.md',
    runsElsewhere: 'it is the whole suite, which test/conformance runs for each store',
  },
  { path: 'packages/fastify/README.md', servers: ['redis'], end: PAY },
  {
    path: 'packages/nestjs/README.md',
    runsElsewhere: 'the page about NestJS runs, and shows the same parts',
  },
  { path: 'docs/integrations/fastify.md', servers: ['redis'], end: PAY },
  { path: 'docs/integrations/telemetry.md', servers: ['redis'], apart: true },
  { path: 'docs/integrations/nestjs.md', servers: ['redis'], end: CALL_BACK },
  {
    path: 'docs/integrations/cron.md',
    servers: ['redis'],
    apart: true,
    ticksSoon: true,
    end: AWAIT_A_TICK,
  },
  { path: 'docs/start/first-lock.md', servers: ['redis'], apart: true },
  ...['start/crash', 'start/oversell', 'start/nightly-job', 'how-to/payment-callback'].map(
    (name): Page => ({ path: `docs/${name}.md`, untyped: true, runsElsewhere: FILES }),
  ),
  ...['cron', 'limit-concurrency', 'migrations', 'leader'].map((name): Page => ({
    path: `docs/how-to/${name}.md`,
    servers: ['redis'],
  })),
  { path: 'docs/how-to/lock-a-path.md' },
  { path: 'docs/how-to/serverless.md', untyped: true, runsElsewhere: HANDLERS },
  { path: 'docs/how-to/cpu-bound-work.md', servers: ['redis'], untyped: true },
  { path: 'docs/how-to/managed-redis.md', servers: ['redis'], untyped: true },
  { path: 'docs/how-to/lock-a-request.md', servers: ['redis'], end: REQUEST },
  {
    path: 'docs/how-to/fence.md',
    servers: ['postgres', 'redis'],
    locks: 'postgres:',
    end: USE_OBJECT_STORE,
  },
  { path: 'docs/console.md', untyped: true, end: SEE_THE_LOCKS },
  { path: 'docs/operate/checklist.md' },
  { path: 'docs/guide/testing.md', untyped: true, runsElsewhere: TESTS },
  { path: 'docs/operate/upgrades.md' },
  ...GUIDE.map((name): Page => ({ path: `docs/guide/${name}.md`, locks: 'embedded:' })),
  { path: 'docs/processes.md', locks: 'embedded:', end: RECEIVE_SIGTERM },
  { path: 'docs/transactions.md', servers: ['postgres', 'redis'], locks: 'postgres:' },
  ...STORES.flatMap(pageOf),
  {
    path: 'docs/stores/README.md',
    runsElsewhere: 'it is the whole suite, which test/conformance runs for each store',
  },
  { path: 'docs/migrate/async-mutex.md' },
  { path: 'docs/migrate/proper-lockfile.md' },
  { path: 'docs/migrate/redis-semaphore.md', servers: ['redis'] },
  { path: 'docs/migrate/redisson.md', servers: ['redis'] },
  { path: 'docs/migrate/redlock.md', servers: ['redlock'] },
  { path: 'docs/migrate/verrou.md', servers: ['redis'] },
  { path: 'docs/internals/history.md' },
  { path: 'packages/holdfast/src/embedded/lock-path.ts' },
  { path: 'packages/holdfast/src/locks/create.ts', locks: 'embedded:' },
]

/** Deployments of a store are on the page of that store. */
function pageOf({ name, samples }: StoreDescriptor): Page[] {
  const path = `docs/stores/${name}.md`
  if (!existsSync(join(ROOT, path))) return []
  return [{ path, ...(samples ? { servers: [name] } : {}), end: TAKE_ONE_LOCK }]
}

/** Chinese pages with the samples of an English one. */
const CHINESE = [
  ...['first-lock', 'crash', 'oversell', 'nightly-job', 'cron'],
  ...['payment-callback', 'lock-a-request', 'nestjs', 'transactions', 'testing', 'processes'],
  ...['cpu-bound-work', 'fence', 'free-a-stuck-lock', 'console'],
]

/** Pages whose samples are those of another page, or come from a program. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  'README.zh-CN.md': 'readme.test.ts compares its blocks with those of README.md',
  ...Object.fromEntries(
    CHINESE.map((name) => [
      `docs/zh/${name}.md`,
      'chinese.test.ts compares its blocks with those of the English page',
    ]),
  ),
  ...Object.fromEntries(
    ['recipes', 'idempotency'].map((name) => [
      `docs/integrations/${name}.md`,
      'recipes.test.ts compares its blocks with the files that tests run',
    ]),
  ),
  'examples/nestjs/README.md': 'test/examples/nestjs.test.ts starts two instances, and asks them',
  'examples/observability/README.md': 'observability.test.ts starts its service and a Prometheus',
  'docs/guarantees.md': 'verification/torture/dist/page.js writes it, and --check compares it',
}

/**
 * Returns pages whose samples can be one program: the start of a process takes longer than they do.
 */
export function pagesTogether(pages: readonly Page[]): [Page, ...Page[]][] {
  const groups = new Map<string, [Page, ...Page[]]>()
  for (const page of pages) {
    const { path, apart, end, ...around } = page
    const isAlone = apart === true || end !== undefined
    const key = isAlone ? path : JSON.stringify(around)
    const group = groups.get(key)
    if (group) group.push(page)
    else groups.set(key, [page])
  }
  return [...groups.values()]
}

/** Returns the pages of the repository that have samples in one of these languages. */
export function pagesWith(languages: readonly string[]): string[] {
  const tracked = execFileSync('git', ['ls-files', '*.md', 'packages/*/src/*.ts'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  const pages = tracked.split('\n').filter((path) => path !== '')
  return pages.filter((path) => blocksOf(path, languages).length > 0)
}
