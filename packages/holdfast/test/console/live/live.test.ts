/** What an operator sees in a real browser while real clients lock on a real Redis. */
import type { AcquireOptions, Lease, LockLostError } from 'holdfast'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { outcomeOf } from '../../support/world.js'
import { browserOfFile } from '../support/browser.js'
import { claim } from '../support/claims.js'
import { startLiveConsole, type LiveConsole } from './live-console.js'

const JOB = 'order:42'

const browser = browserOfFile()

interface Contended {
  readonly live: LiveConsole
  readonly first: Lease
  /** Resolves when the waiter holds the lock. */
  readonly second: Promise<Lease>
  readonly page: Page
  readonly panel: Locator
}

/** One client holds a lock, another one waits, and an operator looks at it. */
async function contended(terms: AcquireOptions = {}): Promise<Contended> {
  const live = await startLiveConsole()
  const [one, other] = [live.client('first'), live.client('second')]
  const first = await one.mutex(JOB).acquire(terms)
  const second = other.mutex(JOB).acquire()
  // Where a test needs it no more, the close of its client ends the wait.
  void outcomeOf(second)
  const page = await browser.open(`${live.url}?lock=${JOB}`)
  const panel = page.getByRole('region', { name: 'One lock' })
  await panel.locator('.holders').getByText('first').waitFor()
  await panel.locator('.queue').getByText('second').waitFor()
  return { live, first, second, page, panel }
}

async function fillDialog(page: Page, reason: string): Promise<void> {
  await page.locator('.holders').getByRole('button', { name: 'Steal…' }).click()
  await page.getByLabel('Type the name').fill(JOB)
  await page.getByLabel('Reason').fill(reason)
}

test('a hand-off appears: the waiter is the holder, and the history has both', async () => {
  const { first, second, panel } = await contended()
  await first.release()
  await second
  await panel.locator('.holders').getByText('second').waitFor()
  await panel.getByText('No process waits.').waitFor()
  const history = panel.locator('.history li')
  await history.filter({ hasText: /granted.*second/ }).waitFor()
  await history.filter({ hasText: /ended.*first/ }).waitFor()
})

test('a steal ends the lease that was looked at, and its holder learns user and reason', async () => {
  // The holder learns of the steal with its next renewal, a third of the TTL later.
  const { first, second, page, panel } = await contended({ ttlMs: 6_000 })
  const lost = new Promise((resolve) => first.signal.addEventListener('abort', resolve))
  await fillDialog(page, 'it hangs')
  await page.getByRole('radio', { name: 'Steal now' }).check()
  await page.getByRole('dialog').getByRole('button', { name: 'Steal now' }).click()
  await page.getByRole('dialog').getByText('Stolen.').waitFor()
  await second
  await lost
  const { code, message } = first.signal.reason as LockLostError
  expect(code).toBe('LOCK_LOST')
  expect(message).toContain('ada: it hangs')
  await page.keyboard.press('Escape')
  await panel.locator('.holders').getByText('second').waitFor()
  await page.locator('.panel .close').click()
  await page
    .locator('.actions li')
    .filter({ hasText: /ada.*it hangs/ })
    .waitFor()
})

test('a steal takes nothing when another client holds the lock by then', async () => {
  const { first, second, page } = await contended()
  await fillDialog(page, 'it hangs')
  await first.release()
  const lease = await second
  await page.getByRole('dialog').getByText('This claim has ended by now').waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByText('Nothing was stolen').waitFor()
  expect(lease.signal.aborted).toBe(false)
  await lease.release()
})

test('a cycle that does not end is a ring, with each process beside it', async () => {
  const live = await startLiveConsole()
  claim(live.store, 'transfer 1', 'account:1', ['account:2'])
  claim(live.store, 'transfer 2', 'account:2', ['account:1'])
  const page = await browser.open(live.url)
  await page.getByRole('img', { name: 'A ring of 2 holders' }).waitFor()
  expect(await page.locator('.deadlock .ring .shaft').count()).toBe(2)
  const members = await page.locator('.deadlock li').allInnerTexts()
  expect(members.map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
    expect.stringMatching(/transfer 1 .*holds account:1 .*waits for account:2/),
    expect.stringMatching(/transfer 2 .*holds account:2 .*waits for account:1/),
  ])
})

test('the server stops: the last look stays, aged; it returns, and the page with it', async () => {
  const { live, page, panel, first } = await contended()
  await live.redis.kill()
  await page.getByText('The store does not answer').first().waitFor()
  await panel.locator('.holders').getByText('first').waitFor()
  await live.redis.start()
  await page.getByText('The store does not answer').first().waitFor({ state: 'detached' })
  const renewed = live.client('third')
  const lease = await renewed.mutex('order:43').acquire()
  await page.locator('.window').getByText('third').waitFor()
  await lease.release()
  void outcomeOf(first.release())
})

test('a right that is withdrawn ends the view at the next refresh', async () => {
  const { live, page } = await contended()
  live.access = false
  await page.getByText('You may not look at these locks').waitFor()
  expect(await page.locator('#page').innerText()).not.toContain('first')
  expect(await page.locator('.panel').count()).toBe(0)
})

test('a right to look alone offers no steal, and a steal that is sent is refused', async () => {
  const { live, page, first } = await contended()
  await fillDialog(page, 'it hangs')
  live.access = { user: 'bob', may: ['look'] }
  await page.locator('.user').getByText('read-only').waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByText('bob may not steal.').waitFor()
  await page.keyboard.press('Escape')
  expect(await page.getByRole('button', { name: 'Steal…' }).count()).toBe(0)
  expect(first.signal.aborted).toBe(false)
})
