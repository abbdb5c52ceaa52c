/** The programs of docs/integrations/cron.md end when SIGTERM comes while a job works. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RedisServer, startRedis } from '@holdfast/servers/redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { blocksOf, ROOT } from '../docs/samples/blocks.js'

/** In the repository, whose packages the programs import. */
const folder = join(ROOT, `build/stops-${process.pid}`)
/** node-cron waits 5 s for a task; the rest is for a busy machine. */
const END_MS = 30_000
/** The first run stops the program, and works on for a while. */
const WORK = `let runs = 0
async function buildReport() {
  runs += 1
  if (runs === 1) process.kill(process.pid, 'SIGTERM')
  await new Promise((resolve) => setTimeout(resolve, 1_500))
}`
/** The programs of NestJS need a compiler; test/docs/samples.test.ts runs them. */
const PROGRAMS = blocksOf('docs/integrations/cron.md', ['ts'])
  .map(({ code }) => code)
  .filter((code) => !code.includes('@nestjs'))
let redis: RedisServer

beforeAll(async () => {
  mkdirSync(folder, { recursive: true })
  redis = await startRedis()
})

afterAll(async () => {
  await redis.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('the page has a program for each library', () => {
  expect(PROGRAMS.map(libraryOf)).toEqual([
    'croner',
    'cron',
    'node-schedule',
    'node-cron',
    'node-cron',
  ])
})

test.each(PROGRAMS.map((code, at) => [libraryOf(code), at, code] as const))(
  'SIGTERM while a job of %s works ends program %i',
  { timeout: END_MS + 10_000 },
  async (_, at, code) => {
    const file = join(folder, `${at}.mjs`)
    const due = code
      .replace("from 'ioredis'", "from 'ioredis6'")
      .replace(/new Redis\(\)/, `new Redis(${redis.port})`)
      .replace("'0 3 * * *'", "'* * * * * *'")
      .replace("namespace: 'reports'", `namespace: 'reports ${at}'`)
    writeFileSync(file, `${due}\n${WORK}\n`)
    const program = spawn(process.execPath, [file], { stdio: ['ignore', 'ignore', 'inherit'] })
    const overdue = setTimeout(() => program.kill('SIGKILL'), END_MS)
    const end: unknown = await once(program, 'exit')
    clearTimeout(overdue)
    expect(end).toEqual([0, null])
  },
)

function libraryOf(code: string): string | undefined {
  return /from '(croner|cron|node-schedule|node-cron)'/.exec(code)?.[1]
}
