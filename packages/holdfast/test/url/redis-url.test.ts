/**
 * URLs of Redis: what they name, whose credentials count, and what is said when they make no sense.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { redisTarget } from '../../dist/url/redis-url.js'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-url-'))
const secret = join(folder, 'secret')
const empty = join(folder, 'empty')
writeFileSync(secret, 'from-a-file\n')
writeFileSync(empty, '\n')

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const read = (url: string, env: Record<string, string> = {}) => redisTarget(url, env)

describe('what a URL names', () => {
  it.each([
    ['redis://h', 'single', [{ host: 'h', port: 6379 }], 0],
    ['redis://h/', 'single', [{ host: 'h', port: 6379 }], 0],
    ['REDIS://h:7000/12', 'single', [{ host: 'h', port: 7000 }], 12],
    ['redis://[::1]:7000', 'single', [{ host: '::1', port: 7000 }], 0],
    [
      'redis+cluster://a:1,b',
      'cluster',
      [
        { host: 'a', port: 1 },
        { host: 'b', port: 6379 },
      ],
      0,
    ],
    [
      'redlock://a,b:2,c/3',
      'redlock',
      [
        { host: 'a', port: 6379 },
        { host: 'b', port: 2 },
        { host: 'c', port: 6379 },
      ],
      3,
    ],
  ])('%s', (url, kind, hosts, database) => {
    expect(read(url)).toEqual({ kind, hosts, database })
  })

  it('reads the name of the primary after the Sentinels', () => {
    const hosts = [
      { host: 'a', port: 26_379 },
      { host: 'b', port: 5 },
    ]
    const target = { kind: 'sentinel', hosts, master: 'my/master', database: 2 }
    expect(read('redis+sentinel://a,b:5/my%2Fmaster/2')).toEqual(target)
  })

  it.each(['rediss://h', 'rediss+sentinel://h/m', 'rediss+cluster://h', 'redlocks://a,b,c'])(
    'uses TLS for %s, with files where the URL names some',
    (url) => {
      expect(read(url).tls).toEqual({})
      const { tls } = read(`${url}?ca=${import.meta.filename}&serverName=redis`)
      expect(tls).toEqual({ ca: readFileSync(import.meta.filename), servername: 'redis' })
    },
  )

  it.each([
    ['redis+unix:///run/redis.sock', '/run/redis.sock', 0],
    ['unix:///run/redis.sock?db=3', '/run/redis.sock', 3],
    ['unix:/run/redis.sock', '/run/redis.sock', 0],
    ['UNIX:///run/a%20b%3F@c.sock', '/run/a b?@c.sock', 0],
  ])('reads the path of a socket: %s', (url, path, database) => {
    expect(read(url)).toEqual({ kind: 'single', hosts: [{ path }], database })
  })

  it('reads the prefix of the keys', () => {
    expect(read('redis://h?prefix=shop').prefix).toBe('shop')
  })
})

describe('whose credentials count', () => {
  const env = { HOLDFAST_REDIS_USERNAME: 'env-user', HOLDFAST_REDIS_PASSWORD: 'env-password' }

  it.each([
    ['redis://me:p%40ss%2F:word@h', {}, { username: 'me', password: 'p@ss/:word' }],
    ['redis://:p@ss@h', {}, { password: 'p@ss' }],
    ['redis://h', {}, undefined],
    ['redis://h', { HOLDFAST_REDIS_PASSWORD: '' }, undefined],
    ['redis://h', env, { username: 'env-user', password: 'env-password' }],
    ['redis://me@h', env, { username: 'me', password: 'env-password' }],
    ['redis://me:own@h', env, { username: 'me', password: 'own' }],
    // A password without a user belongs to the default user.
    ['redis://:own@h', env, { password: 'own' }],
    [`redis://me@h?passwordFile=${secret}`, env, { username: 'me', password: 'from-a-file' }],
    ['redis://h', { HOLDFAST_REDIS_PASSWORD_FILE: secret }, { password: 'from-a-file' }],
    ['redis://:own@h', { HOLDFAST_REDIS_PASSWORD_FILE: '/no/such/file' }, { password: 'own' }],
    ['redis+unix://me:p%2Fw@/s', env, { username: 'me', password: 'p/w' }],
    ['redis+unix:///s?password=p%26w', env, { password: 'p&w' }],
    ['redis+unix://me@/s?password=p%26w', env, { username: 'me', password: 'p&w' }],
    ['redis+unix://me@/s', env, { username: 'me', password: 'env-password' }],
    ['redlock://me:own@a,b,c', {}, { username: 'me', password: 'own' }],
  ])('%s with %j', (url, variables, credentials) => {
    expect(read(url, variables).credentials).toEqual(credentials)
  })

  it('gives the Sentinels theirs, and never those of the servers', () => {
    expect(read('redis+sentinel://me:own@h/m', env).sentinelCredentials).toBeUndefined()
    const sentinel = { HOLDFAST_SENTINEL_USERNAME: 's', HOLDFAST_SENTINEL_PASSWORD: 'p' }
    expect(read('redis+sentinel://h/m', sentinel)).toMatchObject({
      sentinelCredentials: { username: 's', password: 'p' },
    })
    const fromFile = read(`redis+sentinel://h/m?sentinelPasswordFile=${secret}`)
    expect(fromFile.sentinelCredentials).toEqual({ password: 'from-a-file' })
    expect(read('redis://h', sentinel).sentinelCredentials).toBeUndefined()
  })
})

describe('what makes no sense', () => {
  const both = { HOLDFAST_REDIS_PASSWORD: 'open-sesame', HOLDFAST_REDIS_PASSWORD_FILE: secret }

  it.each([
    ['redis:', {}, 'LOCK_USAGE', 'names no server'],
    ['redis:///0', {}, 'LOCK_USAGE', 'names no server'],
    ['redis://:open-sesame@', {}, 'LOCK_USAGE', 'names no server'],
    ['redis://:open-sesame@host:port', {}, 'LOCK_USAGE', 'no valid host and port'],
    ['redis://:open-sesame@host:70000', {}, 'LOCK_USAGE', 'no valid host and port'],
    ['redis://:open/sesame@host', {}, 'LOCK_USAGE', '%2F'],
    ['redis://:open?sesame@host', {}, 'LOCK_USAGE', 'an option that is unknown'],
    ['redis://open:1?sesame@host', {}, 'LOCK_USAGE', 'an option that is unknown'],
    ['redis://:open?sesame=1@host', {}, 'LOCK_USAGE', 'an option that is unknown'],
    ['redis://:open?sesame&1@host', {}, 'LOCK_USAGE', 'an option that is unknown'],
    ['redis://:open#sesame@host', {}, 'LOCK_USAGE', '%2F'],
    ['redis://:open%sesame@host', {}, 'LOCK_USAGE', '%25'],
    ['redis://host/path', {}, 'LOCK_USAGE', 'number of a database'],
    ['redis://host/0/1', {}, 'LOCK_USAGE', 'number of a database'],
    ['redis://host?x=1', {}, 'LOCK_USAGE', 'the option "x"; known here are prefix, passwordFile'],
    ['redis://host?ca=x', {}, 'LOCK_USAGE', 'the option "ca"'],
    ['redis://host?prefix=a&prefix=b', {}, 'LOCK_USAGE', 'twice'],
    ['redis://a,b', {}, 'LOCK_USAGE', 'redis+cluster:'],
    ['redis+sentinel://a', {}, 'LOCK_USAGE', 'does not name the primary'],
    ['redis+cluster://a/1', {}, 'LOCK_USAGE', 'a Cluster has only the first'],
    ['redlock://a,b', {}, 'LOCK_USAGE', 'at least 3'],
    ['redlock://a,b,a:6379', {}, 'LOCK_USAGE', 'must not vote twice'],
    [`redis://:open-sesame@h?passwordFile=${secret}`, {}, 'LOCK_USAGE', 'and names a file'],
    ['redis+unix:', {}, 'LOCK_USAGE', 'names no path of a socket'],
    ['unix://host/path', {}, 'LOCK_USAGE', 'names no path of a socket'],
    ['unix:///', {}, 'LOCK_USAGE', 'names no path of a socket'],
    ['unix://:open/sesame@/s', {}, 'LOCK_USAGE', '%2F'],
    ['unix://:open?sesame@/s', {}, 'LOCK_USAGE', '%2F'],
    ['unix:///s?db=x', {}, 'LOCK_USAGE', 'number of a database'],
    ['unix:///s?virtual_host=1', {}, 'LOCK_USAGE', 'the option "virtual_host"; known here are'],
    ['unix:///s?ca=x', {}, 'LOCK_USAGE', 'the option "ca"'],
    ['unix://:a@/s?password=sesame', {}, 'LOCK_USAGE', 'two passwords'],
    ['redis://h?password=sesame', {}, 'LOCK_USAGE', 'the option "password"'],
    ['redis://me@h', {}, 'STORE_CONFIG', 'has no password'],
    ['redis://h?passwordFile=/no/such/file', {}, 'STORE_CONFIG', 'cannot be read'],
    [`redis://h?passwordFile=${empty}`, {}, 'STORE_CONFIG', 'is empty'],
    ['rediss://h?ca=/no/such/file', {}, 'STORE_CONFIG', 'cannot be read'],
    ['redis://h', both, 'STORE_CONFIG', 'not both'],
  ])('refuses %s with %j', (url, variables, code, text) => {
    let caught: unknown
    try {
      read(url, variables)
    } catch (error) {
      caught = error
    }
    expect(caught).toMatchObject({ code, message: expect.stringContaining(text) as string })
    expect((caught as Error).message).not.toMatch(/sesame/)
  })
})
