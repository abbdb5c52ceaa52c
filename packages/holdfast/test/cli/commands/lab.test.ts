/** `holdfast lab` as users start it. What it plays is tested in packages/lab. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { displayWidth } from '../../../dist/cli/output/table.js'
import { STRATEGIES } from '../../../../lab/dist/index.js'
import { isFull } from '../../../../../test/support/plan.js'
import type { Program } from '../support/program.js'
import { Box } from '../support/holdfast.js'
import { KEYS } from '../support/terminal.js'
import { chromiumProgram } from '@holdfast/servers/chromium'
import { eventually } from '@holdfast/servers/eventually'

const CHOICE = [
  'choose',
  '--machines',
  'one',
  '--have',
  'nothing',
  '--cost',
  'money',
  '--heat',
  'cold',
  '--no-measure',
]

/** The lab starts processes and servers, which takes its time on a busy machine. */
const ENDS_MS = 50_000

async function ended(
  program: Program,
): Promise<{ stdout: string; stderr: string; code: number | string }> {
  const code = await program.code(ENDS_MS)
  return { stdout: program.stdout, stderr: program.stderr, code }
}

const testInFull = test.runIf(isFull())

describe('holdfast lab', () => {
  test('plays a scenario, and reports it in the language of --lang', async () => {
    const { stdout, code } = await ended(new Box().holdfast(['lab', 'payment', '--lang', 'zh']))
    expect(code).toBe(0)
    expect(stdout).toContain('支付回调被重试')
    expect(stdout).toMatch(/✗ 不加锁[^]*✓ 用 Holdfast/)
  })

  test.each([
    [['nonsense'], 64],
    [['tour', 'extra'], 64],
    [['tour', '--items', '3'], 64],
    [['oversell', '--items', 'x'], 64],
    [['oversell', '--buyers', '3', '--items', '5'], 64],
    [['oversell', '--segments', '7', '--items', '5'], 64],
    [['oversell', '--think', '5'], 64],
    [['choose', '--heat', 'warmish'], 64],
    [['--services', 'none,redis'], 64],
    [['--nothing'], 64],
    [['--items'], 64],
    [['--json=x'], 64],
    [['ladder', '--services', 'none'], 78],
    [['payment', '--html', '/'], 78],
    [['choose'], 64],
  ])('%j fails in the language of --lang', async (args, expected) => {
    const { stderr, code } = await ended(new Box().holdfast(['lab', ...args, '--lang=zh']))
    expect(code).toBe(expected)
    // Names of options and values stay as they are; sentences do not.
    expect(stderr).toMatch(/^holdfast: .*\p{Script=Han}.*[。…]\n$/u)
    expect(stderr).not.toMatch(/ (?:is|takes|the|an?) /)
  })

  test('prints one object with --json, and nothing else', async () => {
    const { stdout, stderr, code } = await ended(new Box().holdfast(['lab', 'config', '--json']))
    expect(code).toBe(0)
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toMatchObject({
      everyday: [{ scenario: 'config', withLock: { damage: 0, done: 20 }, asExpected: true }],
    })
  })

  test('recommends a store', async () => {
    const { stdout, code } = await ended(new Box().holdfast(['lab', ...CHOICE, '--json']))
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ choice: { recommendation: { store: 'embedded' } } })
  })

  test('measures on when a server does not start, and says why in the language', async () => {
    const { box, env } = withBrokenRedis()
    const args = [...CHOICE.slice(0, -1), '--machines=several', '--services=redis', '--lang=zh']
    const { stdout, code } = await ended(box.holdfast(['lab', ...args], { env }))
    expect(code).toBe(0)
    expect(stdout).toMatch(/^redis +–/m)
    expect(stdout).toMatch(/redis 无法测量：Redis 没有启动。/)
  })

  test('reports a server that does not start in the language of --lang', async () => {
    const { box, env } = withBrokenRedis()
    const { stderr, code } = await ended(box.holdfast(['lab', 'ladder', '--lang=zh'], { env }))
    expect(code).toBe(78)
    expect(stderr).toMatch(/^holdfast: Redis 没有启动。请用 --services 略过它/)
  })

  test('names its strategies', async () => {
    const { stdout } = await ended(new Box().holdfast(['lab', 'strategies', '--lang', 'en']))
    expect(stdout).toMatch(/^no-lock +no lock$/m)
    expect(stdout).toMatch(/^striped +striped inventory$/m)
    const listed = await new Box().json<{ strategies: unknown[] }>([
      'lab',
      'strategies',
      '--lang',
      'en',
    ])
    expect(listed.strategies[0]).toMatchObject({ id: 'no-lock', title: 'no lock' })
  })

  test.each([
    [['nonsense'], /topic "nonsense" is unknown/],
    [['oversel'], /Did you mean oversell/],
    [['oversell', 'ladder'], /one topic/],
    [['oversell', '--items', '0'], /--items takes a whole number from 1/],
    [['oversell', '--items', 'many'], /--items takes a whole number/],
    [['oversell', '--items', '10', '--segments', '11'], /fewer segments/],
    [['oversell', '--buyers', '50'], /more buyers than items/],
    [['oversell', '--processes', '1'], /--processes takes a whole number from 2/],
    [['oversell', '--strategies', 'no-lok'], /Did you mean no-lock/],
    [['oversell', '--services', 'redis,oracle'], /"oracle" is unknown/],
    [['oversell', '--think', 'long'], /is not a duration/],
    [['--items', '5'], /--items is for oversell, and tour does not know it/],
    [['ladder', '--no-measure'], /--no-measure is for choose/],
    [['payment', '--lang', 'fr'], /--lang "fr" is unknown/],
    [['choose', '--machines', 'one'], /needs --have when there is no terminal/],
  ])('refuses %j', async (args, message) => {
    const { stderr, code } = await ended(new Box().holdfast(['lab', ...args]))
    expect(stderr).toMatch(message)
    expect(code).toBe(64)
  })

  test('says what the ladder needs when Redis is left out', async () => {
    const { stderr, code } = await ended(
      new Box().holdfast(['lab', 'ladder', '--services', 'none']),
    )
    expect(stderr).toMatch(/without redis \(--services leaves it out\)/)
    expect(code).toBe(78)
  })

  test('says what is missing when nothing of it can be played', async () => {
    const only = ['--strategies', 'holdfast-redis', '--services', 'none']
    const { stdout, stderr, code } = await ended(
      new Box().holdfast(['lab', 'oversell', ...only, '--json']),
    )
    expect(stderr).toMatch(/without redis \(--services leaves it out\)/)
    expect(stdout).toBe('')
    expect(code).toBe(78)
  })

  test('fits a terminal of 80 columns in Chinese, whose characters are wide', async () => {
    const few = ['--items', '4', '--buyers', '8', '--processes', '2', '--segments', '2']
    const only = ['--strategies', 'read-modify-write', '--services', 'none', '--lang', 'zh']
    const terminal = new Box().inTerminal(['lab', 'oversell', ...few, ...only], 80)
    expect(await terminal.code()).toBe(0)
    const lines = terminal.screen.split(/\r?\n/).map((line) => displayWidth(plainText(line)))
    expect(lines.length).toBeGreaterThan(8)
    expect(Math.max(...lines)).toBeLessThanOrEqual(80)
    expect(terminal.screen).toContain('p99 等待')
  })

  test.each([
    ['Ctrl-C', KEYS.ctrlC, 130, /Interrupted/],
    ['Ctrl-D', KEYS.ctrlD, 64, /No answer\. lab choose takes --machines/],
  ])('ends when its question is answered by %s', async (_, key, exitCode, message) => {
    const terminal = new Box().inTerminal(['lab', 'choose', '--lang', 'en'])
    await terminal.shows('Where are the processes')
    terminal.types(key)
    expect(await terminal.code()).toBe(exitCode)
    expect(terminal.screen).toMatch(message)
  })

  test('asks again after a mistyped answer', async () => {
    const terminal = new Box().inTerminal(['lab', ...CHOICE.slice(0, 5), ...CHOICE.slice(7)])
    await terminal.shows('What do two holders')
    terminal.types('mony\r')
    await terminal.shows(/Did you mean money/)
    terminal.types('money\r')
    expect(await terminal.code()).toBe(0)
    expect(terminal.screen).toContain('embedded')
  })

  test('has its help in Chinese', async () => {
    const { stdout, code } = await ended(
      new Box().holdfast(['lab', '--help'], { env: { LC_ALL: 'zh_CN.UTF-8' } }),
    )
    expect(code).toBe(0)
    expect(stdout).toMatch(/^用法：[^]*选项：\n[^]*--services A,B +只启动这些服务器/)
  })

  test('fails at once when the page cannot be written', async () => {
    const { stdout, stderr, code } = await ended(
      new Box().holdfast(['lab', ...CHOICE, '--html', '/nowhere/at/all.html']),
    )
    expect(stdout).toBe('')
    expect(stderr).toMatch(/cannot be written to \/nowhere/)
    expect(code).toBe(78)
  })

  testInFull.each([
    ['Ctrl-C', 'SIGINT', 130],
    ['the end of its terminal', 'SIGHUP', 129],
    ['SIGQUIT', 'SIGQUIT', 131],
  ] as const)('leaves nothing behind after %s', async (_, signal, exitCode) => {
    const temporary = mkdtempSync(join(tmpdir(), 'holdfast-cli-lab-'))
    // PostgreSQL runs as a user of its own.
    chmodSync(temporary, 0o755)
    try {
      const lab = new Box().holdfast(['lab', 'oversell', '--processes', '2'], {
        env: { TMPDIR: temporary },
      })
      await eventually('a server of the lab runs', () =>
        readdirSync(temporary).some((name) => name.includes('postgres')),
      )
      lab.kill(signal)
      const { stderr, code } = await ended(lab)
      expect(stderr).toMatch(/Interrupted/)
      expect(code).toBe(exitCode)
      await eventually('its files are gone', () => readdirSync(temporary).length === 0)
      // Every process of it, servers as well, names that folder or comes from it.
      expect(processesNaming(temporary)).toEqual([])
    } finally {
      rmSync(temporary, { recursive: true, force: true })
    }
  })

  testInFull('fails at once when a server dies in the middle', async () => {
    const temporary = mkdtempSync(join(tmpdir(), 'holdfast-cli-lab-'))
    chmodSync(temporary, 0o755)
    const inside = (start: string, path: string): string | undefined =>
      readdirSync(temporary)
        .filter((name) => name.startsWith(start))
        .map((name) => join(temporary, name, path))
        .find((file) => existsSync(file))
    try {
      const rush = ['--items', '20000', '--buyers', '20001', '--strategies', 'holdfast-embedded']
      const socketsOf = String(STRATEGIES.findIndex(({ id }) => id === 'holdfast-embedded'))
      const lab = new Box().holdfast(['lab', 'oversell', ...rush], { env: { TMPDIR: temporary } })
      await eventually(
        'the rush has begun',
        () => inside('holdfast-lab-', join(socketsOf, 's')) !== undefined,
        { withinMs: 60_000 },
      )
      const pidFile = inside('holdfast-postgres-', 'data/postmaster.pid') ?? ''
      process.kill(Number(readFileSync(pidFile, 'utf8').split('\n')[0]), 'SIGKILL')
      const { stderr, code } = await ended(lab)
      expect(stderr).toMatch(
        /^holdfast: PostgreSQL ended in the middle of the lab.*Start the lab again/,
      )
      expect(code).toBe(69)
      await eventually('its files are gone', () => readdirSync(temporary).length === 0)
      expect(processesNaming(temporary)).toEqual([])
    } finally {
      rmSync(temporary, { recursive: true, force: true })
    }
  })

  testInFull('makes a page that a browser shows without a complaint', async () => {
    const box = new Box()
    const file = box.file('report.html')
    const { code } = await ended(box.holdfast(['lab', 'tour', '--html', file]))
    expect(code).toBe(0)
    expect(statSync(file).size).toBeGreaterThan(5000)
    const { dom, complaints } = openInBrowser(file, box.file('profile'))
    expect(complaints).toEqual([])
    expect(dom.match(/class="bar (?:sound|broken)" style="width: [1-9]/g)?.length).toBeGreaterThan(
      3,
    )
  })
})

/** A machine whose `redis-server` ends at once. */
function withBrokenRedis(): { box: Box; env: NodeJS.ProcessEnv } {
  const box = new Box()
  const folder = box.file('bin')
  mkdirSync(folder)
  writeFileSync(join(folder, 'redis-server'), '#!/bin/sh\necho broken >&2\nexit 1\n', {
    mode: 0o755,
  })
  return { box, env: { PATH: `${folder}:${process.env['PATH'] ?? ''}` } }
}

function processesNaming(text: string): string[] {
  const lines = execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' }).split('\n')
  return lines.filter((line) => line.includes(text))
}

/** Loads a page in a headless Chromium: what became of it, and what its console said. */
function openInBrowser(file: string, profile: string): { dom: string; complaints: string[] } {
  const log = join(profile, 'chrome_debug.log')
  const dom = execFileSync(
    chromiumProgram(),
    [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--enable-logging',
      `--user-data-dir=${profile}`,
      '--dump-dom',
      `file://${file}`,
    ],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], timeout: 60_000 },
  )
  const lines = existsSync(log) ? execFileSync('cat', [log], { encoding: 'utf8' }).split('\n') : []
  return { dom, complaints: lines.filter((line) => line.includes('CONSOLE')) }
}

/** Returns what a line of the screen shows: without colours, and after the last clearing. */
function plainText(line: string): string {
  const shown = line.slice(Math.max(0, line.lastIndexOf('\u001b[K')))
  return stripVTControlCharacters(shown)
}
