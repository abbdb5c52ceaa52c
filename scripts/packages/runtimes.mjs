/** Runs the conformance suite and the command on Bun and Deno, from the packed packages. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { startPostgres } from '@holdfast/servers/postgres'
import { startRedis } from '@holdfast/servers/redis'
import { install, runCommand } from './projects.mjs'
import { report, run } from './run.mjs'

/**
 * The npm packages that carry the binaries, and the arguments that stand before a program.
 * @type {[string, string, string, string[]][]}
 */
const RUNTIMES = [
  ['Bun', '@oven/bun-linux-x64', 'bin/bun', ['run']],
  ['Deno', '@deno/linux-x64-glibc', 'deno', ['run', '-A']],
]
const STORES = ['memory', 'embedded', 'redis', 'postgres']

/**
 * @param {string} folder where the project is made
 * @param {Record<string, string>} tarballs
 * @param {readonly string[]} stores whose whole suite runs; the others are left out
 */
export async function checkRuntimes(folder, tarballs, stores = STORES) {
  const packages = [tarballs.holdfast, tarballs.conformance, 'ioredis', 'pg']
  const binaries = RUNTIMES.map(([, name]) => name)
  const project = await install(folder, 'runtimes', [...packages, ...binaries])
  const fixtures = join(import.meta.dirname, 'fixtures')
  cpSync(fixtures, project, { recursive: true })
  const [redis, postgres] = [await startRedis(), await startPostgres()]
  const env = { REDIS_PORT: String(redis.port), POSTGRES_URL: postgres.url }
  try {
    for (const [name, module, file, args] of RUNTIMES) {
      const binary = join(project, 'node_modules', module, file)
      for (const program of ['require.cjs', 'import.mjs', 'console.mjs']) {
        await run(binary, [...args, program], { cwd: project })
      }
      await runCommand(project, binary, args)
      report(`${name}: require, import, the console, the command`)
      for (const store of stores) {
        const printed = await run(binary, [...args, 'suite.mjs', store], { cwd: project, env })
        for (const line of printed.split('\n').filter((text) => text.startsWith('left out'))) {
          console.log(`      ${line}`)
        }
        report(`${name}: conformance of ${store}`, printed.trimEnd().split('\n').at(-1))
      }
    }
  } finally {
    await Promise.all([redis.stop(), postgres.remove()])
  }
}
