/** A real browser, and what it complains of. */
import { existsSync } from 'node:fs'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'

const PROGRAMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser']

export const WIDE = { viewport: { width: 1280, height: 860 }, colorScheme: 'light' } as const

/** What the server sent to a page. */
export interface Received {
  readonly url: string
  readonly text: string
}

export class TestBrowser {
  /** Broken rules of the policy, thrown errors, alerts. Taken by each test. */
  readonly faults: string[] = []
  readonly received: Received[] = []
  readonly #browser: Browser
  readonly #pages: Page[] = []

  constructor(browser: Browser) {
    this.#browser = browser
  }

  /** Opens an address, and notes what the browser complains of. */
  async open(url: string, options: BrowserContextOptions = WIDE): Promise<Page> {
    const context = await this.#browser.newContext({
      ...{ locale: 'en-US', reducedMotion: 'reduce' },
      ...options,
    })
    const page = await context.newPage()
    page.setDefaultTimeout(60_000)
    this.#pages.push(page)
    page.on('pageerror', ({ message }) => this.faults.push(message))
    page.on('console', (message) => {
      const isOfStatus = message.text().startsWith('Failed to load resource')
      if (['error', 'warning'].includes(message.type()) && !isOfStatus)
        this.faults.push(message.text())
    })
    page.on('dialog', (dialog) => this.faults.push(`an alert: ${dialog.message()}`))
    page.on('response', (response) => {
      const head = JSON.stringify(response.headers())
      // A response has no text once its page is closed, or when it has no body.
      void response
        .text()
        .catch(() => '')
        .then((text) => this.received.push({ url: response.url(), text: head + text }))
    })
    await page.goto(url)
    return page
  }

  async closePages(): Promise<void> {
    for (const page of this.#pages.splice(0)) await page.context().close()
  }

  close(): Promise<void> {
    return this.#browser.close()
  }
}

export async function startBrowser(): Promise<TestBrowser> {
  const executablePath = PROGRAMS.find((path) => existsSync(path))
  if (executablePath === undefined) throw new Error('There is no Chromium: node scripts/needs.mjs')
  return new TestBrowser(await chromium.launch({ executablePath, args: ['--no-sandbox'] }))
}
