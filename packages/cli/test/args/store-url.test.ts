import { describe, expect, it } from 'vitest'
import { childEnv, withoutCredentials } from '../../dist/run/child-env.js'
import { locateStore } from '../../dist/stores/locate.js'
import { openStore } from '../../dist/stores/registry.js'

const NONE = { store: undefined, system: undefined }

describe('which store', () => {
  it('asks --store, then HOLDFAST_STORE, then the state folder', () => {
    const env = { HOLDFAST_STORE: 'embedded:/env', XDG_STATE_HOME: '/state', HOME: '/home/me' }
    expect(locateStore({ ...NONE, store: 'embedded:/option' }, env)).toMatchObject({
      url: 'embedded:/option',
      source: '--store',
    })
    expect(locateStore(NONE, env)).toMatchObject({ url: 'embedded:/env', source: 'HOLDFAST_STORE' })
    expect(locateStore(NONE, { ...env, HOLDFAST_STORE: '' }).source).toBe('default')
  })

  it.runIf(process.platform === 'linux')('follows the XDG specification', () => {
    expect(locateStore(NONE, { XDG_STATE_HOME: '/state', HOME: '/h' }).url).toBe('embedded:/state/holdfast')
    expect(locateStore(NONE, { XDG_STATE_HOME: 'relative', HOME: '/h' }).url).toBe(
      'embedded:/h/.local/state/holdfast',
    )
    expect(locateStore({ ...NONE, system: true }, { HOLDFAST_STORE: 'embedded:/env' }).url).toBe(
      'embedded:/var/lib/holdfast',
    )
  })

  it('refuses --store together with --system', () => {
    expect(() => locateStore({ store: 'embedded:', system: true }, {})).toThrow('give one')
  })

  it.each([
    ['nonsense', 64, 'is no URL'],
    ['memory:', 64, 'no other process'],
    ['embeded:/x', 78, 'Did you mean embedded:'],
    ['gopher://x', 78, 'Known: embedded:'],
    ['constructor:', 78, 'There is no store'],
    ['embedded:/x?mode=fast', 64, 'has options'],
  ])('refuses %s', async (url, exitCode, text) => {
    await expect(openStore(url)).rejects.toMatchObject({ exitCode, message: expect.stringContaining(text) })
  })
})

describe('the environment of the command', () => {
  const url = 'redis://me:secret@host:6379/0?token=secret&db=1'
  const facts = { name: 'job', claimId: 'c.1', token: 42n, ttlMs: 30_000 }
  const store = { url, shown: '', source: '--store' } as const

  it('has what the command may want to know', () => {
    expect(childEnv({ PATH: '/bin' }, { ...facts, store })).toEqual({
      PATH: '/bin',
      HOLDFAST_LOCK_NAME: 'job',
      HOLDFAST_OWNER: 'c.1',
      HOLDFAST_TOKEN: '42',
      HOLDFAST_TTL_MS: '30000',
      HOLDFAST_STORE: 'redis://host:6379/0?db=1',
    })
  })

  it('keeps credentials that were inherited anyway', () => {
    expect(childEnv({ HOLDFAST_STORE: url }, { ...facts, store })).toMatchObject({ HOLDFAST_STORE: url })
  })

  it('takes an inherited token away where there is none', () => {
    expect(
      childEnv({ HOLDFAST_TOKEN: '7' }, { ...facts, token: undefined, store })['HOLDFAST_TOKEN'],
    ).toBeUndefined()
  })

  it.each([
    ['redis://user:p%40ss@h/0', 'redis://h/0'],
    ['redis://:p@ss@h/0', 'redis://h/0'],
    ['postgres://h/db?password=x', 'postgres://h/db'],
    ['embedded:/var/lib/x', 'embedded:/var/lib/x'],
  ])('takes the credentials out of %s', (withThem, without) => {
    expect(withoutCredentials(withThem)).toBe(without)
  })
})
