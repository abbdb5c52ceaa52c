/** A thousand names and labels that want more than to be read, from Redis to the screen. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { after } from '../../../../../test/support/after.js'
import { commandsFor } from '../../../dist/console/lock/commands.js'
import { browserOfFile, WIDE } from '../support/browser.js'
import { claim } from '../support/claims.js'
import { startLiveConsole } from './live-console.js'

const COUNT = 1_000
const SECRET = 'hunter2'
const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '<script>alert(1)</script>',
  '"><svg onload=alert(1)>',
  '<style>*{display:none}</style>',
  '&lt;b&gt;&#x202e;',
  'javascript:alert(1)',
  '${alert(1)}{{alert(1)}}',
  'a\u202egpj.exe',
  '\u2066left\u2069\u200fright',
  'in\u200bvisible\ufeff',
  'two\u2028lines\u2029more',
  'z\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309',
  '$(touch pwned)',
  '`touch pwned`',
  "'; touch pwned; '",
  '"; touch pwned; "',
  '| touch pwned & touch pwned',
  "\\'$(touch pwned)",
  '> pwned < pwned',
  '--steal --now *',
  '~/../{a,b}',
  'x'.repeat(400),
]
/** Marks that have no form of their own, or that reorder what stands beside them. */
const INVISIBLE = /[\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/
const TALL = { ...WIDE, viewport: { width: 1280, height: 4_000 } }

function hostile(index: number): string {
  return HOSTILE[index % HOSTILE.length] ?? ''
}

const NAMES = Array.from({ length: COUNT }, (_, index) => `${hostile(index)}:${index}`)

function labelOf(index: number): string {
  return `${hostile(index * 7 + 3)} redis://user:${SECRET}@db/0 ?password=${SECRET}`
}

const browser = browserOfFile()

/** Returns the texts of all rows, as a user that scrolls sees them. */
async function allRows(page: Page): Promise<ReadonlyMap<number, string>> {
  const rows = new Map<number, string>()
  for (let next = 0; next < COUNT;) {
    await page.evaluate(`document.querySelector('.window').scrollTop = ${34 * next}`)
    await page.locator(`tr[aria-rowindex="${next + 2}"]`).waitFor()
    const read = await page.locator('.window tbody tr:not(.spacer)').evaluateAll((found) =>
      found.map((row) => ({
        index: Number(row.getAttribute('aria-rowindex')) - 2,
        text: row.textContent,
      })),
    )
    for (const { index, text } of read) rows.set(index, text)
    while (rows.has(next)) next += 1
  }
  return rows
}

test('1 000 hostile names and labels are text, show their marks, and hide secrets', async () => {
  const live = await startLiveConsole()
  for (const [index, name] of NAMES.entries()) claim(live.store, labelOf(index), name)
  const page = await browser.open(`${live.url}?sort=name`, TALL)
  await page.getByText('1,000 locks').waitFor()
  const texts = [...(await allRows(page)).values()]
  expect(texts.filter((text) => INVISIBLE.test(text))).toEqual([])
  for (const shown of ['a\\u202egpj.exe', '\\u2066left\\u2069\\u200fright', '<script>alert(1)'])
    expect(texts.some((text) => text.startsWith(shown))).toBe(true)
  const foreign = '#page :is(script, style, img, svg svg, iframe, object, [onerror], [onload])'
  expect(await page.locator(foreign).count()).toBe(0)
  expect(texts.filter((text) => text.includes(SECRET))).toEqual([])
  expect(browser.received.filter(({ text }) => text.includes(SECRET))).toEqual([])
  expect(browser.received.length).toBeGreaterThan(5)
})

test('a command that was copied for a hostile name only names it', async () => {
  const live = await startLiveConsole()
  const name = NAMES.find((one) => one.startsWith('$(')) ?? ''
  claim(live.store, 'worker', name)
  const page = await browser.open(`${live.url}?lock=${encodeURIComponent(name)}`, {
    ...WIDE,
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  await page.getByRole('button', { name: 'Copy: look' }).click()
  await page.getByRole('button', { name: 'Copy: look' }).getByText('Copied').waitFor()
  const copied = String(await page.evaluate('navigator.clipboard.readText()'))
  expect(argumentsOf([copied])).toEqual([['inspect', '--', name]])
})

test('in sh, each command for a hostile name has the name as its one operand', () => {
  const commands = NAMES.map((name) => commandsFor(name, undefined)[0]?.command ?? '')
  expect(argumentsOf(commands)).toEqual(NAMES.map((name) => ['inspect', '--', name]))
})

/** Runs commands in a shell, in which `holdfast` prints its arguments. Nothing else may happen. */
function argumentsOf(commands: readonly string[]): string[][] {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-sh-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const holdfast = String.raw`holdfast() { printf '%s\0' "$@"; printf '\n\0'; }`
  const script = [holdfast, ...commands].join('\n')
  const printed = execFileSync('sh', ['-s'], { cwd: folder, input: script, encoding: 'utf8' })
  expect(readdirSync(folder)).toEqual([])
  const calls = printed.split('\n\0').slice(0, -1)
  return calls.map((call) => call.split('\0').slice(0, -1))
}
