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
  /** Why the program is compiled, and does not run here. */
  readonly runsElsewhere?: string
}

const TAKE_ONE_LOCK = `await locks.mutex('sample').run(work)`
const PAY = `
const paid = await app.inject({ method: 'POST', url: '/orders/7/pay' })
if (paid.body !== '{"paid":true}') throw new Error(paid.body)
await app.close()`
const RECEIVE_SIGTERM = `for (const listener of process.listeners('SIGTERM')) await listener('SIGTERM')`

const GUIDE = [
  'events',
  'kinds-of-lock',
  'leases',
  'nesting',
  'once-per-tick',
  'passing-a-lease',
  'testing',
  'urls',
  'waiting',
]

export const PAGES: readonly Page[] = [
  { path: 'README.md', servers: ['redis'] },
  { path: 'packages/holdfast/README.md', servers: ['redis'] },
  {
    path: 'packages/conformance/README.md',
    runsElsewhere: 'it is the whole suite, which test/conformance runs for each store',
  },
  { path: 'packages/fastify/README.md', servers: ['redis'], end: PAY },
  { path: 'docs/integrations/fastify.md', servers: ['redis'], end: PAY },
  { path: 'docs/first-lock.md', servers: ['redis'], apart: true },
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
  { path: 'packages/holdfast/src/locks/create.ts', locks: 'embedded:' },
]

/** Deployments of a store are on the page of that store. */
function pageOf({ name, samples }: StoreDescriptor): Page[] {
  const path = `docs/stores/${name}.md`
  if (!existsSync(join(ROOT, path))) return []
  return [{ path, ...(samples ? { servers: [name] } : {}), end: TAKE_ONE_LOCK }]
}

/** Pages whose samples are those of another page, or come from a program. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  'README.zh-CN.md': 'readme.test.ts compares its blocks with those of README.md',
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
