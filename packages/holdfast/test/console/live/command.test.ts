/** `holdfast console` in a real browser: its token, and what its answers never have. */
import { startRedis } from '@holdfast/servers/redis'
import { expect, test } from 'vitest'
import { after } from '../../../../../test/support/after.js'
import { Box } from '../../cli/support/holdfast.js'
import { browserOfFile } from '../support/browser.js'

const PASSWORD = 'correct-horse-battery'

const browser = browserOfFile()

test('a wrong token shows nothing; no answer has a credential, also while the store is away', async () => {
  const redis = await startRedis({ password: PASSWORD })
  after(() => redis.stop())
  const box = new Box()
  const store = ['--store', redis.url]
  const program = box.holdfast(['console', ...store, '--allow-steal'])
  const [, url = '', token = ''] = await program.prints(/(http:\S+\/)#token=(\S+)/)
  const wrong = await browser.open(`${url}#token=wrong`)
  await wrong.getByText('The token is not right').waitFor()
  expect(await wrong.locator('.window').count()).toBe(0)
  await box.holder('job', [...store, '--label', `nightly ${redis.url}`])

  const page = await browser.open(`${url}?lock=job&search=job#token=${token}`)
  const panel = page.getByRole('region', { name: 'One lock' })
  await panel.getByText('holdfast doctor').waitFor()
  await panel.getByRole('button', { name: 'Steal…' }).click()
  await page.getByLabel('Type the name').fill('job')
  await page.getByLabel('Reason').fill(`see ${redis.url}`)
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByText('Stolen.').waitFor()
  await page.keyboard.press('Escape')
  await panel.getByText('stolen').first().waitFor()
  await redis.kill()
  await page.getByText('What doctor finds').waitFor()

  expect(browser.received.length).toBeGreaterThan(5)
  const views = browser.received.filter(({ url: asked }) => asked.includes('/api/'))
  expect(views.some(({ text }) => text.includes('"findings"'))).toBe(true)
  for (const secret of [PASSWORD, token]) {
    expect(browser.received.filter(({ text }) => text.includes(secret))).toEqual([])
    expect(await page.locator('#page').innerText()).not.toContain(secret)
    expect(program.stderr).not.toContain(secret)
  }
  expect(page.url()).not.toContain(token)
})
