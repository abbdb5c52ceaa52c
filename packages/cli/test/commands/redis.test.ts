/** The command line over a Redis server, with either client library of a user's project. */
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { Box } from '../support/holdfast.js'
import type { Program, ProgramOptions } from '../support/program.js'

const MODULES = fileURLToPath(new URL('../../../../node_modules/', import.meta.url))
const PASSWORD = 'open-sesame'

let server: RedisServer

beforeAll(async () => {
  server = await startRedis({ password: PASSWORD })
})

afterAll(() => server.stop())

/** A folder of a user, whose locks are in the server. */
class Project extends Box {
  url = server.url

  /** Installs a client library, as npm would. */
  install(name: 'ioredis' | 'redis', version: 5 | 6): this {
    mkdirSync(this.file('node_modules'))
    symlinkSync(join(MODULES, `${name}${version}`), this.file(`node_modules/${name}`))
    return this
  }

  override holdfast(args: readonly string[], options: ProgramOptions = {}): Program {
    return super.holdfast(args, { ...options, cwd: this.folder, env: { HOLDFAST_STORE: this.url } })
  }
}

describe.each([
  ['ioredis', 5],
  ['ioredis', 6],
  ['redis', 5],
  ['redis', 6],
] as const)('with %s %d', (name, version) => {
  it('runs a command under a lock, shows it, and lets the next one wait', async () => {
    const project = new Project().install(name, version)
    const lock = `${name}-${version}`
    const holder = await project.holder(lock)
    expect(await project.holdfast(['run', lock, '--wait', '0', '--', 'true']).code()).toBe(75)
    const next = project.holdfast(['run', lock, '--', 'echo', 'my turn'])
    await project.waiters(lock, 1)
    const list = project.holdfast(['ls'])
    expect(await list.code()).toBe(0)
    expect(list.stdout).toContain(lock)
    holder.types('\n')
    expect(await holder.code()).toBe(0)
    expect(await next.code()).toBe(0)
    expect(next.stdout).toBe('my turn\n')
    expect(await project.inspect(lock)).toBeNull()
  })

  it('says what is wrong, without the password', async () => {
    const project = new Project().install(name, version)
    for (const [url, text] of [
      [
        server.url.replace(PASSWORD, 'wrong-password'),
        /Check the user name and the password|asks for a password/,
      ],
      [`redis://:${PASSWORD}@127.0.0.1:1`, /ECONNREFUSED/],
    ] as const) {
      project.url = url
      const run = project.holdfast(['run', 'lock', '--', 'true'])
      expect(await run.code()).toBeGreaterThan(0)
      expect(run.stderr).toMatch(text)
      expect(run.stderr).not.toMatch(/wrong-password|open-sesame/)
    }
  })
})

it('says which library is missing', async () => {
  const run = new Project().holdfast(['run', 'lock', '--', 'true'])
  expect(await run.code()).toBe(78)
  expect(run.stderr).toMatch(/npm install ioredis/)
  expect(run.stderr).not.toContain(PASSWORD)
})

it.each(['redis:', 'redis:///0', 'redis://host/path', 'redis://:open-sesame@host:port', 'redis://host?x=1'])(
  'refuses %s',
  async (url) => {
    const project = new Project()
    project.url = url
    const run = project.holdfast(['ls'])
    expect(await run.code()).toBe(64)
    expect(run.stderr).not.toContain(PASSWORD)
  },
)
