/** `npm run demo:console`: real processes, one of which is stopped, and nothing left of them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { eventually } from '@holdfast/servers/eventually'
import { expect, test } from 'vitest'
import { Program } from '../../cli/support/program.js'
import { browserOfFile } from '../support/browser.js'

const DEMO = fileURLToPath(new URL('../../../../../scripts/demo/console.mjs', import.meta.url))

const browser = browserOfFile()

/** Returns the command lines of all processes that have a text in them. */
function commandLinesWith(text: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const file = `/proc/${pid}/cmdline`
      try {
        return [readFileSync(file, 'utf8').replaceAll('\0', ' ')]
      } catch {
        // It has ended meanwhile.
        return []
      }
    })
    .filter((line) => line.includes(text))
}

test('the demo shows a ring, old waiters and a leader; Ctrl-C ends all of its processes', async () => {
  const demo = new Program(process.execPath, [DEMO])
  const [, url = ''] = await demo.prints(/Open (http:\S+)/, 60_000)
  const page = await browser.open(url)
  await page.getByRole('img', { name: 'A ring of 2 holders' }).waitFor()
  const ring = await page.locator('.deadlock').innerText()
  expect(ring).toMatch(/transfer 1 to 2[^]*transfer 2 to 1/)
  // The stopped process is found by what it no longer does.
  const stopped = page.locator('.deadlock li', { hasText: 'silent' })
  await stopped.waitFor()
  expect(await stopped.innerText()).toMatch(/^transfer 1 to 2/)
  await page.locator('.window tr', { hasText: 'account:2' }).getByText('1 silent').waitFor()
  await page.locator('.elections').getByText('leads for').waitFor()
  await page.locator('.window').getByText('nightly export').waitFor()

  const folder = /embedded:(\S+)/.exec(await page.locator('.bar .address').innerText())?.[1] ?? ''
  expect(existsSync(folder)).toBe(true)
  expect(commandLinesWith(folder).length).toBe(6)
  // As the terminal does: to each process of the group.
  process.kill(-demo.pid, 'SIGINT')
  expect(await demo.code()).toBe(0)
  await eventually('no process is left', () => commandLinesWith(folder).length === 0)
  expect(existsSync(folder)).toBe(false)
  expect(demo.stderr).toBe('')
})

test('a kill of the demo leaves none of its processes, the stopped one included', async () => {
  const demo = new Program(process.execPath, [DEMO])
  await demo.prints(/Open http/, 60_000)
  const children = readFileSync(`/proc/${demo.pid}/task/${demo.pid}/children`, 'utf8')
  const pids = children.trim().split(' ')
  expect(pids.length).toBe(6)
  demo.kill('SIGKILL')
  await eventually('none is left', () => pids.every((pid) => !existsSync(`/proc/${pid}`)))
})

test('a steal from the stopped process ends the deadlock, and the other one continues', async () => {
  const demo = new Program(process.execPath, [DEMO])
  const [, url = ''] = await demo.prints(/Open (http:\S+)/, 60_000)
  const page = await browser.open(url)
  const ring = page.getByRole('img', { name: 'A ring of 2 holders' })
  await ring.waitFor()
  await page.locator('.deadlock').getByRole('link', { name: 'account:1' }).first().click()
  await page.locator('.holders').getByText('transfer 1 to 2').waitFor()
  await page.locator('.holders').getByRole('button', { name: 'Steal…' }).click()
  await page.getByRole('radio', { name: 'Steal now' }).check()
  await page.getByLabel('Type the name').fill('account:1')
  await page.getByLabel('Reason').fill('the process is stopped')
  await page.keyboard.press('Enter')
  await demo.prints(/transfer 2 to 1 \(pid \d+\) has ended/)
  await ring.waitFor({ state: 'detached' })
  demo.kill('SIGTERM')
  expect(await demo.code()).toBe(0)
})
