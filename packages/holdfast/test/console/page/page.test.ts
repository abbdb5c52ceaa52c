/** The page of the console in a real browser, over scripted views. */
import axe from 'axe-core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { isFull } from '../../../../../test/support/plan.js'
import { browserOfFile, WIDE } from '../support/browser.js'
import type { CycleMember, Trouble } from '../../../dist/console/view.js'
import { startFakeConsole, type FakeConsole } from './fake-server.js'
import * as views from './views.js'

const HOT = 'shop:order:hot-0'
const STUCK = 'shop:account:2'
const NARROW = { viewport: { width: 400, height: 800 }, colorScheme: 'dark' } as const

const browser = browserOfFile()
let fake: FakeConsole
/** Each takes a second or two. The usual plan has one case of each part. */
const full = test.runIf(isFull())

beforeAll(async () => {
  fake = await startFakeConsole(views.quietView())
})

afterAll(() => fake.close())

afterEach(async () => {
  // Before the next test, so that none of them asks then.
  await browser.closePages()
  Object.assign(fake, { refusal: undefined, token: undefined, view: views.quietView() })
  fake.stealAnswer = { outcome: 'stolen', freeInMs: 21_000 }
  fake.locks.clear()
  fake.asked.splice(0)
  fake.steals.splice(0)
})

function open(path = '/', options: BrowserContextOptions = WIDE): Promise<Page> {
  return browser.open(fake.origin + path, options)
}

async function obstaclesOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const found = await page.evaluate(`axe.run(document, {
    resultTypes: ['violations'],
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'],
  }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`)
  const wide = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )
  return [
    ...(found as string[]),
    ...(wide === 0 ? [] : [`wider than the screen by ${String(wide)}`]),
  ]
}

describe('what is wrong', () => {
  test('stands first: a ring for a deadlock, and each problem with its process', async () => {
    fake.view = views.troubleView()
    const page = await open()
    const [ring] = await page.locator('.problems .ring .shaft').all()
    expect(ring).toBeDefined()
    const text = await page.locator('.problems').innerText()
    const order = [
      '3 holders wait for each other',
      'transfer 1→2',
      'renewal is late',
      'web-2 pid 9924',
    ]
    expect(order.filter((part) => !text.includes(part))).toEqual([])
    expect(text).toMatch(/hot-0\s+export\s+batch-1 pid 9925\s+9 wait, up to 48s/)
    expect(await page.title()).toMatch(/^\(11\) Holdfast/)
  })

  full('nothing, and the page says that nothing is wrong', async () => {
    const page = await open()
    await page.getByText('Nothing is wrong', { exact: true }).waitFor()
    expect(await page.locator('.card').count()).toBe(0)
  })

  test('a deadlock says which process to stop first, and otherwise that any one will do', async () => {
    type Change = (member: CycleMember, index: number) => CycleMember
    const show = (change: Change, seenMs = 60_000): void => {
      const cycle = views.CYCLE.map(({ lock, owner, heldMs }, index) =>
        change({ lock, owner, heldMs }, index),
      )
      const trouble: Trouble[] = [{ kind: 'deadlock', isResolved: false, seenMs, cycle }]
      fake.view = { ...views.quietView(), refreshMs: 50, trouble }
    }
    // Its claim is in the queue for a while.
    show((member) => member, 2_000)
    const page = await open()
    const advice = page.locator('.deadlock .advice')
    await advice.getByText('Wait for half a minute').waitFor()
    show((member, index) => ({ ...member, ...(index === 0 && { isSilent: true }) }), 2_000)
    await advice.getByText('The marked process stands still').waitFor()
    await advice.getByText('the marked one still keeps its lock').waitFor()
    expect(await page.locator('.deadlock li', { hasText: 'silent' }).count()).toBe(1)
    show((member) => member)
    await advice.getByText('any one will do').waitFor()
    show((member, index) => ({ ...member, ...(index === 1 && { isLate: true }) }))
    await page.locator('.deadlock li', { hasText: 'renewal late' }).waitFor()
    await advice.getByText('The marked process stands still').waitFor()
    show((member, index) => ({ ...member, ...(index > 0 && { isSilent: true }) }))
    await advice.getByText('The marked processes stand still').waitFor()
    show((member) => ({ ...member, isSilent: true }))
    await advice.getByText('All of these processes stand still').waitFor()
    const foreign = { lock: '', owner: { host: '', pid: 0, isForeign: true }, heldMs: 0 }
    show((member, index) => (index === 0 ? foreign : member))
    await advice.getByText('outside of your prefix').waitFor()
    expect(await advice.getByText('any one will do').count()).toBe(0)
  })

  test('a search for deadlocks that left locks out is said, and is not quiet', async () => {
    fake.view = { ...views.quietView(), searchedLocks: 1_000 }
    const page = await open()
    await page.getByText('There may be more deadlocks').waitFor()
    await page.getByText(/has read the waits of 1,000 locks/).waitFor()
    expect(await page.getByText('Nothing is wrong').count()).toBe(0)
    await page.getByRole('button', { name: '中文' }).click()
    await page.getByText('可能还有别的死锁').waitFor()
  })

  full('a store without locks is not taken for one that is fine', async () => {
    fake.view = views.emptyView()
    const page = await open()
    await page.getByText('This store holds no locks').waitFor()
  })

  test('a store that is away keeps the last look, with its age', async () => {
    fake.view = views.awayView()
    const page = await open()
    await page.getByText('Nothing listens on 10.0.4.17 port 6379.').waitFor()
    // The age grows: on a busy machine the first look at it is a second late.
    await page.getByText(/^from 3m( \d+s)? ago$/).waitFor()
    await page.getByText('4410', { exact: true }).waitFor()
    fake.view = views.quietView()
    await page.getByText('Nothing is wrong', { exact: true }).waitFor()
  })
})

describe('the table', () => {
  test('a scroll far down shows placeholders, and then the rows there', async () => {
    fake.view = views.largeView()
    const page = await open()
    await page.getByText('10000', { exact: true }).waitFor()
    await page.evaluate(`document.querySelector('.window').scrollTop = 34 * 7_000`)
    const spacers = await page
      .locator('.spacer td')
      .evaluateAll((cells) => cells.map((cell) => cell.getBoundingClientRect().height > 34))
    expect(spacers).toContain(true)
    await page.getByText('17005', { exact: true }).waitFor()
    const rows = await page.locator('.window tbody tr:not(.spacer)').count()
    expect(rows).toBeLessThanOrEqual(100)
  })

  test('search and sort go to the server, and into the address', async () => {
    const page = await open()
    await page.getByText('4410', { exact: true }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('4411')
    await page.getByText('1 of 320').waitFor()
    await page.getByRole('button', { name: 'Held for' }).click()
    await expect.poll(() => page.url()).toMatch(/\?search=4411&sort=held$/)
    await expect.poll(() => fake.asked.at(-1)?.query.get('sort')).toBe('held')
    await page.reload()
    await page.getByText('1 of 320').waitFor()
  })

  test('until the first walk has ended, counts and findings are those so far', async () => {
    fake.view = { ...views.incompleteView(), refreshMs: 50 }
    const page = await open()
    const note = page.locator('.locks .section-head .note')
    await note.getByText('320 locks found so far').waitFor()
    await page.getByText('Nothing is wrong so far').waitFor()
    const figures = await page.locator('.total strong').allInnerTexts()
    expect(figures.slice(0, 3).every((figure) => figure.endsWith(' so far'))).toBe(true)
    await page.locator('#search').fill('4411')
    await note.getByText('1 of 320 found so far').waitFor()
    await page.locator('#search').fill('4411x')
    await page.getByText('No lock that was found so far fits “4411x”.').waitFor()
    fake.view = { ...views.quietView(), refreshMs: 50 }
    await page.getByText('No lock fits “4411x”.').waitFor()
    await page.locator('#search').fill('')
    await note.getByText(/^320 locks( ·|$)/).waitFor()
    await page.getByText('Nothing is wrong', { exact: true }).waitFor()
  })

  test('keys: arrows move between rows, Enter opens a lock, and Escape returns', async () => {
    const page = await open()
    await page.getByText('4410', { exact: true }).waitFor()
    for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key)
    await page
      .getByRole('region', { name: 'One lock' })
      .getByText('4411', { exact: true })
      .waitFor()
    expect(page.url()).toMatch(/\?lock=shop:order:4411$/)
    await page.keyboard.press('Escape')
    await expect.poll(() => page.url()).not.toContain('lock=')
    await expect
      .poll(() => page.evaluate('document.activeElement.innerText'))
      .toBe('shop:order:4411')
  })
})

describe('one lock', () => {
  full('shows its holder, queue, chain, history and commands', async () => {
    fake.view = views.troubleView()
    fake.locks.set(HOT, views.hotLock())
    const page = await open(`/?lock=${HOT}`)
    const panel = page.getByRole('region', { name: 'One lock' })
    const parts = [
      'export',
      'checkout 9',
      'restock',
      'processes: 31',
      'checkout 1',
      'holdfast doctor',
    ]
    for (const part of parts) await panel.getByText(part).first().waitFor()
    // All nine waiters are listed, and the 31 callers behind them are counted once.
    expect(await panel.getByText(/and \d+ more/).count()).toBe(0)
  })

  full('a steal is explained in the deadlock and beside its button', async () => {
    fake.view = views.troubleView()
    fake.locks.set(STUCK, views.stuckLock())
    const page = await open(`/?lock=${STUCK}`)
    const meaning = 'Steal ends a lease from here'
    await page.locator('.deadlock').getByText(meaning).waitFor()
    await page.locator('.holders').getByText(meaning).waitFor()
    // A screen reader reads it after the name of the button.
    const described = await page.evaluate(`[...document.querySelectorAll('.holders button')].map(
      (button) => document.getElementById(button.getAttribute('aria-describedby') ?? '')?.innerText)`)
    expect(described).toEqual([expect.stringContaining(meaning)])
    await page.getByRole('button', { name: '中文' }).click()
    await page.locator('.holders').getByText('强制释放：从这里结束一个租约').waitFor()
    fake.view = { ...views.quietView(), may: ['look'] }
    await page.locator('.holders button').waitFor({ state: 'detached' })
    expect(await page.locator('#steal-meaning').count()).toBe(0)
  })

  test('a silent waiter is in the row, in the queue and in the chain', async () => {
    fake.view = views.troubleView()
    fake.locks.set(STUCK, views.stuckLock())
    const page = await open(`/?lock=${STUCK}`)
    const row = page.locator('.window tr', { hasText: 'account:2' })
    await row.getByText('1 silent').waitFor()
    const panel = page.getByRole('region', { name: 'One lock' })
    const queue = panel.locator('.queue')
    await queue.getByText('The queue is empty.').waitFor()
    const text = await queue.innerText()
    expect(text).toMatch(/transfer 1→2 web-3 pid 12456\s+silent\s+holds meanwhile\s+shop:account:1/)
    expect(text).toContain('lease granted or renewed 5m ago')
    expect(text).toContain('its claim has left the queue')
    const chain = await panel.locator('.chain li').allInnerTexts()
    expect(chain.map((link) => /look at this process first/i.test(link))).toEqual([
      ...[false, false, true],
    ])
    const members = await page.locator('.deadlock li').allInnerTexts()
    expect(members.map((member) => /\bsilent\b/.test(member))).toEqual([true, false, false])
  })

  full('holders and elections that are left out are counted', async () => {
    fake.view = { ...views.quietView(), moreElections: 1_234 }
    fake.locks.set(HOT, { ...views.hotLock(), moreHolders: 5 })
    const page = await open(`/?lock=${HOT}`)
    await page.locator('.elections').getByText('and 1,234 more').waitFor()
    await page.locator('.elections .section-head').getByText('1,236').waitFor()
    await page.locator('.holders').getByText('and 5 more').waitFor()
  })

  full('a lock that is not there, or outside of the prefix, is no error', async () => {
    const page = await open('/?lock=nothing')
    await page.getByText('No such lock').waitFor()
  })

  full('a user that may only look sees no steal', async () => {
    fake.view = { ...views.troubleView(), may: ['look'] }
    fake.locks.set(HOT, views.hotLock())
    const page = await open(`/?lock=${HOT}`)
    await page.locator('.holders .claims').waitFor()
    expect(await page.getByRole('button', { name: 'Steal…' }).count()).toBe(0)
  })

  test('a steal needs the typed name, and names the claim that was looked at', async () => {
    fake.view = views.troubleView()
    fake.locks.set(HOT, views.hotLock())
    const page = await open(`/?lock=${HOT}`)
    await page.getByRole('button', { name: 'Steal…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('in 22s at the latest').waitFor()
    await dialog.getByLabel('Reason').fill('hangs')
    await dialog.getByLabel('Type the name').fill('shop:order:hot')
    await dialog.getByRole('radio', { name: 'Steal now' }).check()
    await dialog.getByText('Only the fence protects').waitFor()
    const button = dialog.getByRole('button', { name: 'Steal now' })
    expect(await button.isDisabled()).toBe(true)
    // Another process holds the lock by now.
    fake.locks.set(HOT, { ...views.hotLock(), holders: [views.holder(views.owner('x', 1), 1)] })
    await dialog.getByText('This claim has ended by now').waitFor()
    fake.stealAnswer = { outcome: 'nothing-stolen' }
    await dialog.getByLabel('Type the name').fill(HOT)
    await button.click()
    await dialog.getByText('Nothing was stolen').waitFor()
    const { claimId } = views.IN_THE_WAY
    expect(fake.steals).toEqual([{ lock: HOT, claimId, typed: HOT, reason: 'hangs', now: true }])
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  })

  full('a refused steal says why', async () => {
    fake.view = views.troubleView()
    fake.locks.set(HOT, views.hotLock())
    fake.stealAnswer = { error: { code: 'FORBIDDEN', message: 'Mara may only look.' } }
    const page = await open(`/?lock=${HOT}`)
    await page.getByRole('button', { name: 'Steal…' }).click()
    await page.getByLabel('Type the name').fill(HOT)
    await page.getByLabel('Reason').fill('hangs')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('Mara may only look.').waitFor()
  })
})

full('another store is a choice away, and what a prefix hides is said', async () => {
  const two = { stores: ['cache', 'jobs'], prefix: 'team-a', isPrefixLoose: true }
  fake.view = { ...views.quietView(), ...two }
  const page = await open('/?search=44')
  await page.getByText('names of others may begin with it too').waitFor()
  await page.getByRole('combobox', { name: 'Store' }).selectOption('jobs')
  await expect.poll(() => fake.asked.at(-1)?.query.get('store')).toBe('jobs')
  expect(page.url()).toMatch(/\?store=jobs&search=44$/)
  await page.goBack()
  await expect.poll(() => fake.asked.at(-1)?.query.get('store')).toBe(null)
})

full('a command is copied as it stands', async () => {
  fake.view = views.troubleView()
  fake.locks.set(HOT, views.hotLock())
  const page = await open(`/?lock=${HOT}`, {
    ...WIDE,
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  await page.getByRole('button', { name: 'Copy: look' }).click()
  await page.getByRole('button', { name: 'Copy: look' }).getByText('Copied').waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(`holdfast inspect '${HOT}'`)
})

describe('requests', () => {
  test('an unchanged view is not sent again, and a hidden tab asks nothing', async () => {
    fake.view = { ...views.quietView(), refreshMs: 50 }
    const page = await open()
    await expect
      .poll(() => fake.asked.filter(({ status }) => status === 304).length)
      .toBeGreaterThan(2)
    const setHidden = (isHidden: boolean): Promise<unknown> =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))`)
    await setHidden(true)
    // A request on its way may still arrive. Of four refreshes none does.
    await page.waitForTimeout(250)
    const before = fake.asked.length
    await page.waitForTimeout(1_000)
    expect(fake.asked.length).toBe(before)
    await setHidden(false)
    await expect.poll(() => fake.asked.length).toBeGreaterThan(before)
  })

  test.each(isFull() ? ['/admin/locks', '/admin/locks/', '/'] : ['/admin/locks'])(
    'works at %s',
    async (path) => {
      const page = await open(`${path}?search=4410`)
      await page.getByText('1 of 320').waitFor()
    },
  )

  test('the token leaves the address, goes into a header, and outlives a reload', async () => {
    fake.token = 'right'
    const page = await open('/?search=4410#token=right')
    await page.getByText('1 of 320').waitFor()
    expect(page.url()).toBe(`${fake.origin}/?search=4410`)
    await page.reload()
    await page.getByText('1 of 320').waitFor()
  })

  full('a missing and a wrong token say what to open', async () => {
    fake.token = 'right'
    await (await open()).getByText('This page needs its token').waitFor()
    await (await open('/#token=wrong')).getByText('The token is not right').waitFor()
    await expect.poll(() => fake.asked.map(({ status }) => status)).toEqual([401, 401])
  })

  test('a withdrawn right ends the view, and a new one continues it', async () => {
    fake.view = { ...views.quietView(), refreshMs: 50 }
    const page = await open()
    await page.getByText('4410', { exact: true }).waitFor()
    fake.refusal = 403
    await page.getByText('You may not look at these locks').waitFor()
    expect(await page.content()).not.toContain('4410')
    fake.refusal = undefined
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('4410', { exact: true }).waitFor()
  })

  full('a redirect to a sign-in page is no answer', async () => {
    fake.refusal = 302
    await (await open()).getByText('Sign in to the application').waitFor()
  })

  test('a console that does not answer keeps its last view, and returns by itself', async () => {
    fake.view = { ...views.quietView(), refreshMs: 50 }
    const page = await open()
    await page.getByText('4410', { exact: true }).waitFor()
    await fake.pause()
    await page.getByText('The console does not answer').waitFor()
    await page.getByText('4410', { exact: true }).waitFor()
    await fake.resume()
    await page.getByText('The console does not answer').waitFor({ state: 'detached' })
  })
})

describe('texts', () => {
  test('hostile names are text, and show the marks that would reorder them', async () => {
    fake.view = views.hostileView()
    const page = await open()
    await page
      .locator('.window .lock-link')
      .nth(views.HOSTILE.length - 1)
      .waitFor()
    const text = await page.locator('.window').innerText()
    expect(text).toContain('a\\u202egpj.exe')
    expect(text).toContain('line\\u000abreak\\u0009tab\\u0000null')
    expect(text).toContain('<img src=x onerror=alert(1)>')
    expect(await page.locator('body').innerText()).not.toMatch(
      /[\u200b-\u200f\u202a-\u202e\u2066-\u2069]/,
    )
    expect(await page.locator('#page img, #page script, #page style').count()).toBe(0)
  })

  full('a name with invisible characters is typed as the page shows it', async () => {
    fake.view = views.hostileView()
    const page = await open(`/?lock=${encodeURIComponent('a\u202egpj.exe')}`)
    await page.getByRole('button', { name: 'Steal…' }).click()
    await page.getByLabel('Type the name').fill('a\\u202egpj.exe')
    await page.getByLabel('Reason').fill('a trap')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('Stolen.').waitFor()
    expect(fake.steals[0]?.typed).toBe('a\u202egpj.exe')
  })

  full('a Chinese browser gets Chinese, and a switch is kept', async () => {
    const page = await open('/', { ...WIDE, locale: 'zh-CN' })
    await page.getByText('一切正常').waitFor()
    await page.getByRole('button', { name: 'EN' }).click()
    await page.getByText('Nothing is wrong', { exact: true }).waitFor()
    await page.reload()
    await page.getByText('Nothing is wrong', { exact: true }).waitFor()
  })
})

const SEEN = [
  ['trouble with one lock', views.troubleView, `/?lock=${HOT}`, WIDE],
  ['trouble', views.troubleView, '/', NARROW],
  ...(isFull()
    ? ([
        ['quiet', views.quietView, '/', WIDE],
        ['one lock', views.troubleView, `/?lock=${HOT}`, NARROW],
        ['a store that is away', views.awayView, '/', NARROW],
        ['hostile names', views.hostileView, '/', NARROW],
        ['hostile names', views.hostileView, '/', { ...WIDE, colorScheme: 'dark' }],
        ['no locks', views.emptyView, '/', WIDE],
        ['trouble', views.troubleView, '/', { ...WIDE, viewport: { width: 2560, height: 1300 } }],
        ['trouble', views.troubleView, '/', { ...NARROW, locale: 'zh-CN' }],
      ] as const)
    : []),
] as const

test.each(SEEN)('axe finds nothing: %s (%#)', async (_, view, path, options) => {
  fake.view = view()
  fake.locks.set(HOT, views.hotLock())
  const page = await open(path, options)
  await page.locator(path === '/' ? '.store-line' : '.panel ol.history').waitFor()
  expect(await obstaclesOf(page)).toEqual([])
})

full('axe finds nothing: the dialog of a steal, dark and narrow', async () => {
  fake.view = views.troubleView()
  fake.locks.set(HOT, views.hotLock())
  const page = await open(`/?lock=${HOT}`, NARROW)
  await page.getByRole('button', { name: 'Steal…' }).click()
  await page.getByRole('radio', { name: 'Steal now' }).check()
  expect(await obstaclesOf(page)).toEqual([])
})
