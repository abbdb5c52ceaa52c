import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { childEnv } from '../../../dist/cli/run/child-env.js'
import { locateStore } from '../../../dist/cli/stores/locate.js'
import { openStore } from '../../../dist/cli/stores/open-store.js'
import { failureOf } from '../../../dist/cli/failure.js'
import { databaseUrl } from '../../../dist/url/database-url.js'
import { embeddedOptions } from '../../../dist/url/embedded.js'
import { etcdOptions } from '../../../dist/url/etcd.js'
import { withoutCredentials } from '../../../dist/url/secrets.js'
import { zookeeperOptions } from '../../../dist/url/zookeeper.js'

const NONE = { store: undefined, system: undefined, modules: undefined }

const located = (store: string): string => locateStore({ ...NONE, store }, {}).url

const at = (url: string) => ({ url, shown: '', source: '--store', modules: undefined })

async function failureOfOpening(url: string) {
  const error: unknown = await openStore(at(url)).catch((thrown: unknown) => thrown)
  return failureOf(error)
}

describe('which store', () => {
  it('asks --store, then HOLDFAST_STORE, then the state folder', () => {
    const env = { HOLDFAST_STORE: 'embedded:/env', XDG_STATE_HOME: '/state' }
    const fromOption = locateStore({ ...NONE, store: 'embedded:/option' }, env)
    expect(fromOption).toMatchObject({ url: 'embedded:/option', source: '--store' })
    expect(locateStore(NONE, env)).toMatchObject({ url: 'embedded:/env', source: 'HOLDFAST_STORE' })
    expect(locateStore(NONE, { ...env, HOLDFAST_STORE: '' })).toMatchObject({ source: 'default' })
  })

  it.runIf(process.platform === 'linux')('has a folder for each user, and one for all', () => {
    vi.stubEnv('XDG_STATE_HOME', '/state')
    expect(locateStore(NONE, {}).url).toBe('embedded:/state/holdfast')
    vi.unstubAllEnvs()
    const system = locateStore({ ...NONE, system: true }, { HOLDFAST_STORE: 'embedded:/env' })
    expect(system.url).toBe('embedded:/var/lib/holdfast')
  })

  it('the folder for all users opens as shared, by --system as by its URL', () => {
    expect(embeddedOptions('embedded:/var/lib/holdfast/')).toEqual({ system: true })
    expect(embeddedOptions('embedded:///var/lib/holdfast')).toEqual({ system: true })
    expect(embeddedOptions('embedded:file:///a%20b')).toEqual({ directory: '/a b' })
    expect(embeddedOptions('embedded:')).toEqual({})
  })

  it('reads the address of an etcd cluster, its user, and its certificates', () => {
    expect(etcdOptions('etcd://h')).toEqual({ endpoints: ['http://h:2379'] })
    expect(etcdOptions('etcd://h?prefix=team/locks')).toEqual({
      endpoints: ['http://h:2379'],
      prefix: 'team/locks',
    })
    const url = `etcds://me:p%40ss:word@a:1,b,[::1]:3/?ca=${import.meta.filename}&serverName=etcd`
    expect(etcdOptions(url)).toEqual({
      endpoints: ['https://a:1', 'https://b:2379', 'https://[::1]:3'],
      credentials: { user: 'me', password: 'p@ss:word' },
      tls: { ca: readFileSync(import.meta.filename), serverName: 'etcd' },
    })
  })

  it('reads the address of a ZooKeeper ensemble, its chroot and its user', () => {
    expect(zookeeperOptions('zk://h')).toEqual({ connect: 'h:2181' })
    expect(zookeeperOptions('zk://me:p%40ss@a:1,b/apps/locks/?tickMs=500')).toEqual({
      connect: 'a:1,b:2181/apps/locks',
      auth: { scheme: 'digest', user: 'me', password: 'p@ss' },
      tickMs: 500,
    })
  })

  it('makes a relative folder absolute, since the command inherits the URL and may change its folder', () => {
    const { url } = locateStore({ ...NONE, store: 'embedded:locks' }, {})
    expect(url).toBe(`embedded:${process.cwd()}/locks`)
    expect(locateStore({ ...NONE, store: 'embedded:file:///x' }, {}).url).toBe('embedded:file:///x')
  })

  it('makes the relative path of a file in a URL absolute, for the same reason, and leaves the rest as it is', () => {
    const here = process.cwd()
    expect(located('redis://h/0?prefix=a%20b&passwordFile=a%20file')).toBe(
      `redis://h/0?prefix=a%20b&passwordFile=${here}/a%20file`,
    )
    expect(located('etcds://h?ca=/x&cert=y')).toBe(`etcds://h?ca=/x&cert=${here}/y`)
    expect(located('postgres://h/db?sslrootcert=../ca')).toBe(
      `postgres://h/db?sslrootcert=${dirname(here)}/ca`,
    )
    expect(located('redis://h/0?prefix=ca')).toBe('redis://h/0?prefix=ca')
    expect(located('embedded:/a?ca=b')).toBe('embedded:/a?ca=b')
  })

  it('refuses a ~ that the shell has left, which would become a folder', () => {
    for (const store of ['embedded:~', 'embedded:~/locks', 'embedded:~me/locks'])
      expect(() => locateStore({ ...NONE, store }, {})).toThrow(
        expect.objectContaining({ code: 'LOCK_USAGE' }),
      )
    expect(locateStore({ ...NONE, store: 'embedded:./~' }, {}).url).toBe(
      `embedded:${process.cwd()}/~`,
    )
  })

  it('takes a database at a socket, which has no host in its URL', () => {
    const postgres = databaseUrl('postgresql:///hf?host=/run/pg&schema=s', 'schema')
    expect(postgres).toMatchObject({ url: 'postgresql:///hf?host=%2Frun%2Fpg', own: 's' })
    const withUser = databaseUrl('postgres://me:p%40ss@/hf?host=/run/pg', 'schema')
    expect(withUser).toEqual({ url: 'postgres://me:p%40ss@/hf?host=%2Frun%2Fpg', own: undefined })
    expect(() => databaseUrl('postgresql:///hf', 'schema')).toThrow('names no server')
    expect(() => databaseUrl('postgres://me@/hf', 'schema')).toThrow('names no server')
    expect(() => databaseUrl('postgresql:///hf?host=', 'schema')).toThrow('names no server')
  })

  it('leaves out what poolers and other programs put into the URL of a database', () => {
    const neon = 'postgresql://h/db?sslmode=require&channel_binding=require&pgbouncer=true'
    expect(databaseUrl(neon, 'schema').url).toBe('postgresql://h/db?sslmode=require')
    const prisma = 'mysql://h/db?connection_limit=5&pool_timeout=2&ssl={}'
    expect(databaseUrl(prisma, 'prefix').url).toBe('mysql://h/db?ssl=%7B%7D')
  })

  it('refuses --store together with --system', () => {
    expect(() => locateStore({ ...NONE, store: 'embedded:', system: true }, {})).toThrow('give one')
  })

  it.each([
    ['nonsense', 64, 'is no URL'],
    ['memory:', 64, 'no other process'],
    ['embeded:/x', 64, 'Did you mean embedded:'],
    ['gopher://x', 64, 'Known: embedded:'],
    ['constructor:', 64, 'There is no store'],
    ['zk:', 64, 'zk://host:2181'],
    ['zk://me@h', 64, 'without a password'],
    ['zk://h?tick=1', 64, 'know the option tickMs'],
    ['zk://h?tickMs=soon', 64, 'number of milliseconds'],
    ['etcd:', 64, 'etcd://host:2379'],
    ['etcd://me@h', 64, 'without a password'],
    ['etcd://h?ca=x', 64, 'write etcds:'],
    ['etcds://h?cs=x', 64, 'know the options'],
    ['etcds://h?ca=/no/such/file', 78, 'cannot be read'],
    ['embedded:/x?mode=fast', 64, 'has options'],
    ['embedded:file://host/x', 64, 'no folder of this machine'],
    ['embedded:file:///%zz', 64, 'starts no escape'],
    ['mysql://app:p%zz@h/db', 64, '%25'],
    ['mysql://app@h/db?ssl=notjson', 64, 'notjson'],
    ['mysql://app@h/db?ssl={"passphrase"', 64, 'no JSON'],
    ['mysql://app@h/db?charset=none', 64, 'Unknown charset'],
    ['mysql://app@h/db?ssl-mode=REQUIRED', 64, 'Write ssl={}'],
    ['mysql://app@h/db?useSSL=true', 64, 'Write ssl={}'],
    ['mysql://app@h/db?schema=s', 64, 'Did you mean prefix?'],
    ['postgres://app@h/db?shema=s', 64, 'Did you mean schema?'],
    ['postgres://app@h/db?Schema=s', 64, 'Did you mean schema?'],
    ['postgres://app@h/db?mode=session', 64, 'has the option "mode", which is unknown'],
    ['postgres://app@h/db?ssl-mode=REQUIRED', 64, 'Write sslmode=verify-full'],
    ['postgres://app@h/db?sslMode=require', 64, 'Write sslmode=verify-full'],
    ['postgres://app@h/db?ssl_mode=require', 64, 'Write sslmode=verify-full'],
    ['postgres://app@h/db?tls=true', 64, 'Write sslmode=verify-full'],
    ['postgres://app@h/db?sslaccept=strict', 64, 'Write sslmode=verify-full'],
    ['postgres://app@h/db?aplication_name=x', 64, 'Did you mean application_name?'],
    ['postgres://app@h/db?anything=x', 64, 'which is unknown. Leave it out'],
    ['mysql://app@h/db?tls=true', 64, 'Write ssl={}'],
    ['mysql://app@h/db?requireSSL=true', 64, 'Write ssl={}'],
    ['mysql://app@h/db?anything=x', 64, 'which is unknown. Leave it out'],
    ['postgres://app@h/db?sslrootcert=/no/such/file', 78, 'cannot be read'],
  ])('refuses %s', async (url, exitCode, text) => {
    const message: unknown = expect.stringContaining(text)
    expect(await failureOfOpening(url)).toMatchObject({ exitCode, message })
  })
})

describe('what is shown of a store', () => {
  it.each([
    [`redis://q:hun'ter2@h:6379/0`, 'redis://***@h:6379/0'],
    ['redis://q:hun"ter2@h', 'redis://***@h'],
    ['etcd://q:hun ter2@h', 'etcd://***@h'],
    ['mysql://q:hun\nter2@h/db', 'mysql://***@h/db'],
    ['postgres://q:hun?ter/2@h/db', 'postgres://***@h/db'],
    ['redis:app:hunter2@h', 'redis:***@h'],
    ['redis:/app:hunter2@h', 'redis:/***@h'],
    ['postgres:app:hunter2@h/db', 'postgres:***@h/db'],
    ['//app:hunter2@h', '//***@h'],
    ['redis//app:hunter2@h', '***@h'],
    [`postgres://h/db?schema=s&password=ab'hunter3`, 'postgres://h/db?schema=s&password=***'],
    ['postgres://h/db?password=a#b&schema=s', 'postgres://h/db?password=***&schema=s'],
    ['mysql://h/db?ssl={"ca":"x","passphrase":"hun ter2"}', 'mysql://h/db?ssl=***'],
    ['redis://h?passwordFile=/run/secret', 'redis://h?passwordFile=/run/secret'],
    ['embedded:/home/me@work/locks', 'embedded:/home/me@work/locks'],
  ])('%s', (store, seen) => {
    expect(locateStore({ ...NONE, store }, {}).shown).toBe(seen)
  })

  it.each([
    '//app:hunter2@h',
    `hunter2'@h`,
    'postgres:app:hunter2@h/db',
    'mysql:app:hunter2@h',
    'redis:app:hunter2@h',
    'redis:/app:hunter2@h',
    'redis://app:x?hunter2@h',
    'etcd://app:x?hunter2@h',
    'zk://app:x?hunter2@h',
    'zk://app:x/hunter2@h',
    'etcd://app:x?hunter2=1@h',
    'etcds://app:x?hunter2&1@h',
    'zk://app:x?hunter2=1@h',
    'mysql://app:1?tlshunter2=1@h',
  ])('is nothing of the password when %s is refused', async (store) => {
    await expect(openStore(at(store))).rejects.toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('hunter2') as unknown }),
    )
    expect(await failureOfOpening(store)).toMatchObject({ exitCode: 64 })
  })
})

describe('the environment of the command', () => {
  const url = 'redis://me:secret@host:6379/0?token=secret&db=1'
  const facts = { name: 'job', claimId: 'c.1', token: 42n, ttlMs: 30_000 }
  const store = { url, shown: '', source: '--store', modules: undefined }
  const within = (env: Record<string, string | undefined>, name: string, claimId: string) =>
    childEnv(env, { ...facts, store, name, claimId })

  it('has what the command may want to know', () => {
    expect(childEnv({ PATH: '/bin' }, { ...facts, store })).toEqual({
      PATH: '/bin',
      HOLDFAST_HELD: '[["job","c.1"]]',
      HOLDFAST_LOCK_NAME: 'job',
      HOLDFAST_OWNER: 'c.1',
      HOLDFAST_TOKEN: '42',
      HOLDFAST_TTL_MS: '30000',
      HOLDFAST_STORE: 'redis://me@host:6379/0?db=1',
    })
  })

  it('keeps credentials that were inherited anyway', () => {
    expect(childEnv({ HOLDFAST_STORE: url }, { ...facts, store })).toMatchObject({
      HOLDFAST_STORE: url,
    })
  })

  it('keeps credentials that were inherited with the name of a file, which it may look for from elsewhere', () => {
    const env = { HOLDFAST_STORE: 'rediss://:secret@host?ca=./ca.pem' }
    const inner = childEnv(env, {
      ...facts,
      store: locateStore(NONE, env),
    })
    expect(inner['HOLDFAST_STORE']).toBe(`rediss://:secret@host?ca=${process.cwd()}/ca.pem`)
  })

  it('names the files of passwords so that they are found from elsewhere', () => {
    const env = {
      HOLDFAST_REDIS_PASSWORD_FILE: './secret',
      HOLDFAST_SENTINEL_PASSWORD_FILE: '/run/secret',
    }
    expect(childEnv(env, { ...facts, store })).toMatchObject({
      HOLDFAST_REDIS_PASSWORD_FILE: `${process.cwd()}/secret`,
      HOLDFAST_SENTINEL_PASSWORD_FILE: '/run/secret',
    })
  })

  it('has the locks of all runs around it, each once, and not without end', () => {
    const third = within(within(within({}, 'a', '1'), 'b "', '2'), 'a', '3')
    expect(third['HOLDFAST_HELD']).toBe('[["a","1"],["b \\"","2"],["a","3"]]')
    const older = { HOLDFAST_LOCK_NAME: 'a', HOLDFAST_OWNER: '1', HOLDFAST_HELD: 'no list' }
    expect(within(older, 'b', '2')['HOLDFAST_HELD']).toBe('[["a","1"],["b","2"]]')
    let deep: Record<string, string | undefined> = {}
    for (let depth = 0; depth < 1000; depth += 1) deep = within(deep, 'a', String(depth))
    expect(JSON.parse(deep['HOLDFAST_HELD'] ?? '')).toHaveLength(64)
  })

  it('names the folder of client libraries, for runs inside that start elsewhere', () => {
    const modules = '/opt/lib'
    expect(childEnv({}, { ...facts, store: { ...store, modules } })).toMatchObject({
      HOLDFAST_MODULES: modules,
    })
  })

  it('takes an inherited token away where there is none', () => {
    expect(
      childEnv({ HOLDFAST_TOKEN: '7' }, { ...facts, token: undefined, store })['HOLDFAST_TOKEN'],
    ).toBeUndefined()
  })

  it.each([
    ['redis://user:p%40ss@h/0', 'redis://user@h/0'],
    ['redis://:p@ss@h/0', 'redis://h/0'],
    [`redis://q:hun'ter2@h/0`, 'redis://q@h/0'],
    ['redis://q:hun"ter 2@h/0?prefix=a b', 'redis://q@h/0?prefix=a b'],
    ['etcd://me:pass@h:2379', 'etcd://h:2379'],
    ['zk://me:pass@h/apps', 'zk://h/apps'],
    ['postgres://h/db?password=x', 'postgres://h/db'],
    [`postgres://h/db?password=ab'c#d&schema=s`, 'postgres://h/db?schema=s'],
    ['postgres://h/db?pass%77ord=x', 'postgres://h/db'],
    ['mysql://u:p@h/db?ssl={"passphrase":"hunter2"}', 'mysql://u@h/db'],
    ['embedded:/var/lib/x', 'embedded:/var/lib/x'],
  ])('takes the credentials out of %s', (withThem, without) => {
    expect(withoutCredentials(withThem)).toBe(without)
  })

  it.each([
    'redis://app@h?passwordFile=/run/me@h/secret',
    'postgres://app@h/db?schema=s',
    'mysql://app@h/db?ssl={"rejectUnauthorized":true}',
    'redis://h?',
  ])('leaves %s as it is, which has no secret', (url) => {
    expect(withoutCredentials(url)).toBe(url)
  })
})
