/**
 * The pages about moving from another library: the samples of a page are one program, which
 * compiles and runs. Samples in JavaScript use the other library as well, and only run.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { transform } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PAGES = join(ROOT, 'docs/migrate')
/** In the repository, whose packages the programs import. */
const folder = join(ROOT, `build/migrate-${process.pid}`)
const run = promisify(execFile)
const pages = readdirSync(PAGES).filter((page) => page !== 'README.md')
let servers: readonly RedisServer[] = []

beforeAll(async () => {
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules/ioredis6'), join(folder, 'node_modules/ioredis'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'preload.cjs'), PRELOAD)
  writeFileSync(join(folder, 'reader.d.ts'), READER)
  servers = await Promise.all(Array.from({ length: 3 }, () => startRedis()))
})

afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()))
  rmSync(folder, { recursive: true, force: true })
})

/** What the samples use of the reader's program. */
const READER = `
  declare function work(): Promise<void>
  declare function charge(order: string, how: { signal: AbortSignal; token: bigint }): Promise<void>
`

/** Defines that, and leads the usual ports to the servers of the test. */
const PRELOAD = `
  const { Socket } = require('node:net')
  const ports = JSON.parse(process.env.PORTS)
  const connect = Socket.prototype.connect
  Socket.prototype.connect = function (...args) {
    const [options] = Array.isArray(args[0]) ? args[0] : args
    options.port = ports[options.port - 6379] ?? options.port
    return connect.apply(this, args)
  }
  globalThis.work = async () => undefined
  globalThis.charge = async (order, { signal, token }) => {
    if (signal.aborted || typeof token !== 'bigint') throw new Error('charged without a lease')
  }
`

function samples(page: string, languages: string): string {
  const text = readFileSync(join(PAGES, page), 'utf8')
  const blocks = text.matchAll(new RegExp(`^\`\`\`(?:${languages})\\n([^]*?)^\`\`\``, 'gm'))
  return Array.from(blocks, ([, code]) => code).join('\n')
}

test('the samples compile', async () => {
  for (const page of pages)
    writeFileSync(join(folder, page.replace('.md', '.ts')), `${samples(page, 'ts')}\nexport {}\n`)
  const options = { noEmit: true, rootDir: ROOT, types: ['node'], composite: false }
  const config = { extends: '../../tsconfig.base.json', compilerOptions: options }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...config, include: ['*.ts'] }))
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  const compiled = await run(process.execPath, [compiler, '-p', folder]).catch(
    (error: { readonly stdout: string }) => error,
  )
  expect(compiled.stdout).toBe('')
})

test.each(pages)('the samples of %s run', async (page) => {
  const { code } = await transform(samples(page, 'ts|js'), { loader: 'ts' })
  const program = page.replace('.md', '.mjs')
  writeFileSync(join(folder, program), `${code}\nconsole.log('end')\nprocess.exit()\n`)
  const env = { ...process.env, PORTS: JSON.stringify(servers.map(({ port }) => port)) }
  const args = ['--require', './preload.cjs', program]
  const { stdout, stderr } = await run(process.execPath, args, { cwd: folder, env })
  expect({ stdout: stdout.split('\n').at(-2), stderr }).toEqual({ stdout: 'end', stderr: '' })
})

test('the index names every page', () => {
  const index = readFileSync(join(PAGES, 'README.md'), 'utf8')
  expect(pages.filter((page) => !index.includes(`](${page})`))).toEqual([])
})
