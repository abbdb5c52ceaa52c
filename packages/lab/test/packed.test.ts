/** The lab as npm installs it: packed, in an empty folder, with no client library beside it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const PACKAGES = fileURLToPath(new URL('../../', import.meta.url))
const SQLITE = '@photostructure/sqlite'
const PACKED_MS = 60_000

let folder = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-packed-'))
  install('holdfast', 'holdfast')
  linkSqlite()
}, PACKED_MS)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function install(name: string, as: string): void {
  const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder]
  const packed = execFileSync('npm', [...pack, join(PACKAGES, name)], { encoding: 'utf8' }).trim()
  const target = join(folder, 'node_modules', as)
  mkdirSync(target, { recursive: true })
  execFileSync('tar', ['-xzf', join(folder, packed), '-C', target, '--strip-components=1'])
}

/** Node before 22.13 has no SQLite of its own: there npm installs one beside the command line. */
function linkSqlite(): void {
  const { resolve } = createRequire(join(PACKAGES, 'holdfast/package.json'))
  const scope = join(folder, 'node_modules', dirname(SQLITE))
  mkdirSync(scope, { recursive: true })
  symlinkSync(packageFolder(resolve(SQLITE)), join(folder, 'node_modules', SQLITE))
}

function packageFolder(file: string): string {
  const above = dirname(file)
  return existsSync(join(above, 'package.json')) ? above : packageFolder(above)
}

function lab(...args: string[]): { stdout: string; stderr: string; code: number | null } {
  const program = join(folder, 'node_modules/holdfast/bin/holdfast.cjs')
  const { stdout, stderr, status } = spawnSync(process.execPath, [program, 'lab', ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, LANG: 'C', LC_ALL: 'C' },
    timeout: PACKED_MS,
  })
  return { stdout, stderr, code: status }
}

describe('without the package', () => {
  test('holdfast lab names the command that installs it', () => {
    expect(lab()).toEqual({
      stdout: '',
      stderr:
        'holdfast: The lab is a package of its own, which is not installed. Run: npm install --save-dev @holdfast/lab\n',
      code: 78,
    })
  })

  test('holdfast lab --help names it, too', () => {
    const { stdout, code } = lab('--help')
    expect(stdout).toContain('npm install --save-dev @holdfast/lab')
    expect(code).toBe(0)
  })
})

describe('with the package', () => {
  beforeAll(() => install('lab', '@holdfast/lab'), PACKED_MS)

  test('holdfast lab --help lists the topics', () => {
    const { stdout, stderr, code } = lab('--help')
    expect(stderr).toBe('')
    expect(stdout).toMatch(/^ {2}ladder {2,}/m)
    expect(code).toBe(0)
  })

  test('the shop needs no server and no client library', { timeout: PACKED_MS }, () => {
    const rush = ['--items', '4', '--buyers', '24', '--processes', '2', '--think', '2ms']
    const strategies = ['--strategies', 'no-lock,holdfast-embedded']
    const { stdout, stderr, code } = lab(
      'oversell',
      '--services',
      'none',
      ...rush,
      ...strategies,
      '--json',
    )
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toMatchObject({
      oversell: {
        rows: [
          { strategy: 'no-lock', damaged: true },
          { strategy: 'holdfast-embedded', damaged: false },
        ],
      },
    })
    expect(code).toBe(0)
  })

  test('the ladder says which package it lacks', () => {
    const { stderr, code } = lab('ladder')
    expect(stderr).toMatch(/npm install ioredis/)
    expect(code).toBe(78)
  })
})
