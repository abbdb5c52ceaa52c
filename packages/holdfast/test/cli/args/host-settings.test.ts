/** The settings of a machine: where they count, and which file is refused. */
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { locateStore } from '../../../dist/cli/stores/locate.js'
import { Box } from '../support/holdfast.js'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-settings-'))
const NONE = { store: undefined, system: undefined, modules: undefined }
let files = 0

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function file(content: unknown, mode = 0o644): string {
  const path = join(folder, `${(files += 1)}.json`)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  chmodSync(path, mode)
  return path
}

describe('the settings of a machine', () => {
  it('count after options and variables', () => {
    const path = file({ store: 'embedded:/host', modules: '/host/lib' })
    const env = { HOLDFAST_CONFIG: path }
    expect(locateStore(NONE, env)).toMatchObject({
      url: 'embedded:/host',
      source: path,
      modules: '/host/lib',
    })
    const inherited = { ...env, HOLDFAST_STORE: 'embedded:/env', HOLDFAST_MODULES: '/env/lib' }
    expect(locateStore(NONE, inherited)).toMatchObject({
      url: 'embedded:/env',
      modules: '/env/lib',
    })
    const option = { ...NONE, store: 'embedded:/option', modules: '/option/lib' }
    expect(locateStore(option, inherited)).toMatchObject({
      url: 'embedded:/option',
      modules: '/option/lib',
    })
    expect(locateStore({ ...NONE, system: true }, env)).toMatchObject({ source: '--system' })
  })

  it('are none for an empty HOLDFAST_CONFIG', () => {
    const env = { HOLDFAST_CONFIG: '' }
    expect(locateStore(NONE, env)).toMatchObject({ source: 'default', modules: undefined })
  })

  it.each([
    ['no JSON', '{"store": "redis://:hunter2@h/0"', /it is no JSON object/],
    ['a list', [], /it is no JSON object/],
    ['an unknown key', { stor: 'x' }, /the key "stor", which does not exist\. Did you mean store/],
    ['a number', { store: 7 }, /its value of store must be a text/],
    ['a relative folder', { modules: 'lib' }, /modules must be an absolute path/],
    ['a password for all', { store: 'redis://:hunter2@h/0' }, /every user may read the password/],
  ])('refuse %s, and never quote it', (_, content, message) => {
    const locate = () => locateStore(NONE, { HOLDFAST_CONFIG: file(content) })
    expect(locate).toThrow(expect.objectContaining({ exitCode: 78 }))
    expect(locate).toThrow(message)
    expect(locate).not.toThrow(/hunter2/)
  })

  it('may hold a password when not all users can read it', () => {
    const env = { HOLDFAST_CONFIG: file({ store: 'redis://:hunter2@h/0' }, 0o640) }
    expect(locateStore(NONE, env).shown).toBe('redis://***@h/0')
  })

  it.each([0o666, 0o664])('refuse a file that others may write to: %o', (mode) => {
    const env = { HOLDFAST_CONFIG: file({ store: 'embedded:/x' }, mode) }
    expect(() => locateStore(NONE, env)).toThrow(/another user may write to it/)
  })

  it.runIf(process.getuid?.() === 0)('refuse a file of another user', () => {
    const path = file({ store: 'embedded:/x' })
    chownSync(path, 4321, 0)
    expect(() => locateStore(NONE, { HOLDFAST_CONFIG: path })).toThrow(/another user may write/)
  })

  it('refuse a file that is not there, unless the store is known', () => {
    const env = { HOLDFAST_CONFIG: join(folder, 'absent.json') }
    expect(() => locateStore(NONE, env)).toThrow(/cannot be read: ENOENT.*Write --store URL/)
    expect(locateStore({ ...NONE, store: 'embedded:/x' }, env).url).toBe('embedded:/x')
  })

  it('name the store of a run, and doctor shows them', async () => {
    const box = new Box()
    const path = file({ store: box.env.HOLDFAST_STORE })
    const env = { HOLDFAST_STORE: undefined, HOLDFAST_CONFIG: path }
    const run = box.holdfast(['run', 'x', '--', 'printenv', 'HOLDFAST_STORE'], { env })
    expect(await run.code(), run.stderr).toBe(0)
    expect(run.stdout).toBe(`${box.env.HOLDFAST_STORE}\n`)
    const doctor = box.holdfast(['doctor'], { env })
    expect(await doctor.code()).toBe(0)
    expect(doctor.stdout).toContain(`${box.env.HOLDFAST_STORE} (${path})`)
    expect(doctor.stdout).toMatch(new RegExp(`ok +settings +${path}: store\n`))
  })
})
