/**
 * The command line over Redis servers, with either client library of a user's project: as on the
 * embedded store.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeFolder, removeFolder } from '@holdfast/servers/folders'
import { freePorts } from '@holdfast/servers/ports'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { isFull } from '../../../../../test/support/plan.js'
import { Box, type Inspected } from '../support/holdfast.js'
import { expectOneToEnd } from '../support/nested-runs.js'
import { Program, type ProgramOptions } from '../support/program.js'

const MODULES = fileURLToPath(new URL('../../../../../node_modules/', import.meta.url))
const PASSWORD = 'open-sesame'
const WRONG = 'wrong-password'
/** node-redis reports the command after the login, which is refused as well. */
const WRONG_ADVICE = /Put the right user and password into the URL/

/** Of another program, and one that would give the terminal a title. */
const KEY = 'hf:{a\u001b]0;title\u0007}'

let server: RedisServer

beforeAll(async () => {
  server = await startRedis({ password: PASSWORD })
})

afterAll(() => server.stop())

/** A folder of a user, whose locks are in the server. */
class Project extends Box {
  url = server.url
  variables: Record<string, string> = {}
  hasModules = false

  /** Installs a client library, as npm would. */
  install(name: 'ioredis' | 'redis', version: 5 | 6): this {
    mkdirSync(this.file('node_modules'))
    this.hasModules = true
    symlinkSync(join(MODULES, `${name}${version}`), this.file(`node_modules/${name}`))
    return this
  }

  override async inspect(name: string): Promise<Inspected | null> {
    return (await this.json<{ lock: Inspected | null }>(['inspect', name])).lock
  }

  override holdfast(args: readonly string[], options: ProgramOptions = {}): Program {
    const env = {
      HOLDFAST_STORE: this.url,
      HOLDFAST_MODULES: this.hasModules ? this.folder : undefined,
      ...this.variables,
    }
    return super.holdfast(args, { ...options, cwd: this.folder, env })
  }

  /** Runs a command that ought to fail, and gives what it says. */
  async failing(code: number): Promise<string> {
    const run = this.holdfast(['run', 'lock', '--wait', '0', '--', 'true'])
    expect(await run.code(), run.stderr).toBe(code)
    expect(run.stdout + run.stderr).not.toMatch(/wrong-password|open-sesame/)
    return run.stderr
  }
}

describe.each([
  ['ioredis', 5],
  ['ioredis', 6],
  ['redis', 6],
] as const)('with %s %d', (name, version) => {
  const project = (): Project => new Project().install(name, version)
  const lock = `${name}-${version}`

  it('runs a command under a lock, shows it, and lets the next one wait', async () => {
    const box = project()
    const holder = await box.holder(lock)
    expect(await box.holdfast(['run', lock, '--wait', '0', '--', 'true']).code()).toBe(75)
    const next = box.holdfast(['run', lock, '--', 'sh', '-c', 'echo "$HOLDFAST_TOKEN"; exit 42'])
    await box.waiters(lock, 1)
    const list = box.holdfast(['ls'])
    expect(await list.code()).toBe(0)
    expect(list.stdout).toContain(lock)
    const token = BigInt((await box.inspect(lock))?.holders[0]?.token ?? 0)
    holder.types('\n')
    expect(await holder.code()).toBe(0)
    expect(await next.code()).toBe(42)
    expect(BigInt(next.stdout.trim())).toBeGreaterThan(token)
    expect(await box.inspect(lock)).toBeNull()
  })

  it('ends one of two runs inside of runs that wait for each other', async () => {
    await expectOneToEnd(project())
  })

  it('ends one claim, and all grants of a lock', async () => {
    const box = project()
    const first = await box.holder(lock, ['--ttl', '2s'])
    const claim = (await box.inspect(lock))?.holders[0]?.claimId ?? ''
    const one = box.holdfast(['steal', lock, '--claim', claim, '--reason', 'a test', '--now'])
    expect(await one.code()).toBe(0)
    expect(one.stdout).toContain(`Took "${lock}" from the claim ${claim}`)
    expect(await first.code()).toBe(74)
    const second = await box.holder(lock, ['--ttl', '2s'])
    const steal = box.holdfast(['steal', lock, '--confirm', lock, '--reason', 'a test'])
    expect(await steal.code()).toBe(0)
    expect(await second.code()).toBe(74)
    expect(second.stderr).toContain('a test')
  })
})

describe.each([['ioredis', 6], ...(isFull() ? ([['redis', 6]] as const) : [])] as const)(
  'the server of the URL, with %s %d',
  (name, version) => {
    const project = (): Project => new Project().install(name, version)
    const lock = `${name}-settings`

    it('says what is wrong, without the password', async () => {
      const box = project()
      box.url = server.url.replace(PASSWORD, WRONG)
      expect(await box.failing(77)).toMatch(WRONG_ADVICE)
      box.url = server.url.replace(`:${PASSWORD}@`, '')
      expect(await box.failing(77)).toMatch(/Put the right user and password into the URL/)
      box.url = `redis://:${PASSWORD}@127.0.0.1:1`
      expect(await box.failing(69)).toMatch(/ECONNREFUSED/)
    })

    it('takes the password from a file or the environment', async () => {
      const box = project()
      const bare = server.url.replace(`:${PASSWORD}@`, '')
      const file = box.file('password')
      writeFileSync(file, `${PASSWORD}\n`)
      const run = (): Promise<number | string> => box.holdfast(['run', lock, '--', 'true']).code()
      box.url = `${bare}?passwordFile=${file}`
      expect(await run()).toBe(0)
      box.url = bare
      box.variables = { HOLDFAST_REDIS_PASSWORD: PASSWORD }
      expect(await run()).toBe(0)
      box.variables = { HOLDFAST_REDIS_PASSWORD_FILE: file }
      expect(await run()).toBe(0)
      box.variables = { HOLDFAST_REDIS_PASSWORD: WRONG }
      expect(await box.failing(77)).toMatch(WRONG_ADVICE)
    })

    it('shows names that others gave without their escape sequences', async () => {
      const box = project()
      box.url = `${server.url}/5`
      await server.command(
        'EVAL',
        "redis.call('SELECT', '5') return redis.call('SET', KEYS[1], 'x')",
        '1',
        KEY,
      )
      const list = box.holdfast(['ls'])
      expect(await list.code()).toBe(78)
      expect(list.stderr).toContain('\\x1b]0;title\\x07')
    })

    it('keeps its locks under the prefix and in the database of the URL', async () => {
      const box = project()
      box.url = `${server.url}/3?prefix=shop`
      const holder = await box.holder(lock)
      expect(await server.command('KEYS', '*')).not.toContain('shop:')
      expect(await box.inspect(lock)).not.toBeNull()
      box.url = server.url
      expect(await box.inspect(lock)).toBeNull()
      holder.kill('SIGTERM')
      await holder.code()
    })
  },
)

describe.each(isFull() ? (['ioredis', 'redis'] as const) : (['ioredis'] as const))(
  'TLS with %s',
  (name) => {
    let secure: RedisServer
    const folder = makeFolder('redis-tls')
    const file = (which: string): string => join(folder, which)

    beforeAll(async () => {
      makeCertificate(file('key.pem'), file('cert.pem'))
      secure = await startRedis({
        config: [
          ['tls-port', '0'],
          ['tls-cert-file', file('cert.pem')],
          ['tls-key-file', file('key.pem')],
          ['tls-ca-cert-file', file('cert.pem')],
          ['tls-auth-clients', 'no'],
        ],
      })
    })

    afterAll(async () => {
      await secure.stop()
      removeFolder(folder)
    })

    /** The server listens for TLS on a port that the system gives it. */
    async function tlsPort(): Promise<number> {
      const [port = 0] = await freePorts(1)
      expect(await secure.command('CONFIG', 'SET', 'tls-port', String(port))).toBe('+OK\r\n')
      return port
    }

    it('reaches a server whose certificate is known, and no other', async () => {
      const project = new Project().install(name, 6)
      const url = `rediss://localhost:${await tlsPort()}`
      project.url = `${url}?ca=${file('cert.pem')}`
      expect(await project.holdfast(['run', 'job', '--', 'true']).code()).toBe(0)
      project.url = url
      expect(await project.failing(77)).toMatch(/self-signed.*certificate of the authority/s)
    })
  },
)

it('reports a server that speaks no TLS', async () => {
  const project = new Project().install('ioredis', 6)
  project.url = server.url.replace('redis:', 'rediss:')
  expect(await project.failing(69)).toMatch(
    /^holdfast: (Redis: |The (redis )?store d(id|oes) not answer)/,
  )
})

describe('over Redlock', () => {
  const nodes: RedisServer[] = []

  beforeAll(async () => {
    for (let count = 0; count < 3; count += 1) nodes.push(await startRedis({ password: PASSWORD }))
  })

  afterAll(() => Promise.all(nodes.map((node) => node.stop())))

  it.each(['ioredis', 'redis'] as const)('runs a command by majority, with %s', async (name) => {
    const project = new Project().install(name, 6)
    const hosts = nodes.map(({ host, port }) => `${host}:${port}`)
    project.url = `redlock://:${PASSWORD}@${hosts.join()}`
    const holder = await project.holder('job')
    expect(await project.holdfast(['run', 'job', '--wait', '0', '--', 'true']).code()).toBe(75)
    holder.types('\n')
    expect(await holder.code()).toBe(0)
    const token = project.holdfast(['run', 'job', '--', 'sh', '-c', 'echo "[$HOLDFAST_TOKEN]"'])
    expect(await token.code()).toBe(0)
    expect(token.stdout).toMatch(/^\[\d+\]\n$/)
    const acquired = project.holdfast(['acquire', 'job'])
    expect(await acquired.code(), acquired.stderr).toBe(0)
    const handle = acquired.stdout.trim()
    expect(await project.holdfast(['run', 'job', '--wait', '0', '--', 'true']).code()).toBe(75)
    expect(await project.holdfast(['renew', handle]).code()).toBe(0)
    expect(await project.holdfast(['release', handle]).code()).toBe(0)
    // A majority works without one server, and not without two.
    project.url = `redlock://:${PASSWORD}@${[hosts[0], hosts[1], '127.0.0.1:1'].join()}`
    expect(await project.holdfast(['run', 'job', '--', 'true']).code()).toBe(0)
    project.url = `redlock://:${PASSWORD}@${[hosts[0], '127.0.0.1:2', '127.0.0.1:1'].join()}`
    await project.failing(69)
    project.url = `redlock://:${WRONG}@${hosts.join()}`
    await project.failing(77)
  })
})

it('says which library is missing', async () => {
  const project = new Project()
  // The program alone, as if nothing were installed beside it.
  const bin = project.file('bin/holdfast.cjs')
  for (const part of ['bin', 'dist', 'package.json']) {
    cpSync(fileURLToPath(new URL(`../../../${part}`, import.meta.url)), project.file(part), {
      recursive: true,
    })
  }
  const alone = new Program(process.execPath, [bin, 'run', 'lock', '--', 'true'], {
    cwd: project.folder,
    env: { ...project.env, HOLDFAST_STORE: project.url },
  })
  expect(await alone.code(), alone.stderr).toBe(78)
  expect(alone.stderr).toMatch(/npm install ioredis/)
})

it.each([
  'redis:',
  'redis://host/path',
  `redis://:${PASSWORD}@host:port`,
  `redis://:a/${PASSWORD}@host`,
])('refuses %s', async (url) => {
  const project = new Project()
  project.url = url
  await project.failing(64)
  const doctor = project.holdfast(['doctor'])
  expect(await doctor.code()).toBe(64)
  expect(doctor.stdout + doctor.stderr).not.toContain(PASSWORD)
})

function makeCertificate(key: string, cert: string): void {
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const kind = [
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '2',
  ]
  execFileSync('openssl', ['req', ...kind, ...subject, '-keyout', key, '-out', cert], {
    stdio: 'pipe',
  })
}
