/** The handlers of the page about serverless code: in Cloudflare's runtime, and in Node. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { createLocks } from 'holdfast'
import { describe, expect, test, vi } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { freePorts } from '@holdfast/servers/ports'
import type { RestBridge } from '@holdfast/servers/redis-rest'
import { blocksOf, ROOT } from '../../../../../test/docs/samples/blocks.js'
import { makeDirectory } from '../../embedded/support/world.js'
import { after, openOver, startBridge } from './world.js'

const [NEXT = '', WORKER = '', LAMBDA = ''] = blocksOf('docs/how-to/serverless.md', ['js']).map(
  ({ code }) => code,
)
/** What the handlers do under the lock. */
const SHIP = `globalThis.ship = async (order) => {
  await new Promise((resolve) => setTimeout(resolve, 400))
  return 'shipped ' + order
}
`
/** A client that all requests share, which is the mistake of the page. */
const SHARED = WORKER.replace('export default {', 'let kept\nexport default {')
  .replace('const locks =', 'const locks = kept ??=')
  .replace('await locks.close()', '')

const workerd = findWorkerd()
if (workerd === undefined) console.log('left out: workerd, which does not run on this platform')

describe.skipIf(workerd === undefined).each(['2025-10-01', '2026-01-01', '2026-11-01'])(
  'a Worker with the compatibility date %s',
  (date) => {
    test('serves two requests for one lock one after the other', async () => {
      const bridge = await startBridge()
      const ask = await startWorker(WORKER, bridge, date)
      const statuses = await Promise.all([ask('/7'), ask('/7')])
      expect(statuses).toEqual(['200 shipped /7', '200 shipped /7'])
      const locks = createLocks(openOver(bridge))
      after(() => locks.close())
      const lease = await locks.mutex('order:/8').acquire()
      expect(await ask('/8')).toBe('423 busy')
      await lease.release()
    })

    test('refuses a second request that uses the client of the first', async () => {
      const ask = await startWorker(SHARED, await startBridge(), date)
      // The first request was the one to which the Worker answered at its start.
      expect(await ask('/7')).toContain('these locks belong to another request')
    })
  },
)

test('a handler of Next and one of Lambda hold the lock until they answer', async () => {
  const bridge = await startBridge()
  vi.stubEnv('UPSTASH_REDIS_REST_URL', bridge.url)
  vi.stubEnv('UPSTASH_REDIS_REST_TOKEN', bridge.token)
  after(() => vi.unstubAllEnvs())
  const { POST } = await imported(NEXT)
  const post = async (): Promise<number> => {
    const answer = await POST?.(undefined, { params: Promise.resolve({ order: '7' }) })
    return (answer as Response).status
  }
  expect(await Promise.all([post(), post()])).toEqual([200, 200])
  const { handler } = await imported(LAMBDA)
  const context = { getRemainingTimeInMillis: () => 30_000 }
  const call = (): Promise<unknown> | undefined => handler?.({ order: '7' }, context)
  const answers = await Promise.all([call(), call()])
  expect(answers.map((answer) => (answer as { statusCode: number }).statusCode).sort()).toEqual([
    204, 423,
  ])
})

type Exports = Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>

/** Beside this file, so that it finds the packages. */
async function imported(code: string): Promise<Exports> {
  const text = encodeURIComponent(SHIP + (await bundled(code, 'node')))
  return (await import(/* @vite-ignore */ `data:text/javascript,${text}`)) as Exports
}

/** Starts a Worker, and returns how to ask it. */
async function startWorker(
  code: string,
  { url, token }: RestBridge,
  date: string,
): Promise<(path: string) => Promise<string>> {
  const folder = makeDirectory()
  const [port = 0] = await freePorts(1)
  writeFileSync(join(folder, 'worker.js'), SHIP + (await bundled(code, 'worker')))
  writeFileSync(join(folder, 'config.capnp'), configOf(port, date, url, token))
  const args = ['serve', join(folder, 'config.capnp')]
  const child = spawn(String(workerd), args, { stdio: 'ignore' })
  after(() => child.kill())
  const ask = async (path: string): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`)
    return `${answer.status} ${await answer.text()}`
  }
  await eventually('it answers', () => ask('/warm').then(Boolean, () => false))
  return ask
}

function configOf(port: number, date: string, url: string, token: string): string {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "${date}",
  compatibilityFlags = ["nodejs_compat"],
  bindings = [
    (name = "UPSTASH_REDIS_REST_URL", text = "${url}"),
    (name = "UPSTASH_REDIS_REST_TOKEN", text = "${token}"),
  ],
);
`
}

/** As Wrangler bundles: a module of Node that CommonJS requires is imported. */
async function bundled(code: string, platform: 'node' | 'worker'): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: withErrors(code, platform), resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['main'],
    conditions: ['import', 'node'],
    plugins: [
      {
        name: 'node',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /^node:/ }, ({ kind, path }) =>
            kind === 'require-call' ? { path, namespace: 'required' } : { path, external: true },
          )
          onLoad({ filter: /.*/, namespace: 'required' }, ({ path }) => ({
            contents: `import found from '${path}'; module.exports = found`,
          }))
        },
      },
    ],
  })
  return outputFiles[0]?.text ?? ''
}

/** The runtime hides the error of a handler. */
function withErrors(code: string, platform: 'node' | 'worker'): string {
  if (platform === 'node') return code
  return `${code.replace('export default {', 'const handlers = {')}
export default {
  fetch: (...call) =>
    handlers.fetch(...call).catch((error) => new Response(error.message, { status: 500 })),
}`
}

function findWorkerd(): string | undefined {
  const require = createRequire(pathToFileURL(join(ROOT, 'package.json')))
  const { platform, arch } = process
  const name = `@cloudflare/workerd-${platform}-${arch === 'x64' ? '64' : arch}`
  try {
    return require.resolve(`${name}/bin/workerd`)
  } catch {
    return undefined
  }
}
