/** A real browser, and what it complains of. */
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { chromiumProgram } from '@holdfast/servers/chromium'

export const WIDE = { viewport: { width: 1280, height: 860 }, colorScheme: 'light' } as const

/** What the server sent to a page. */
export interface Received {
  readonly url: string
  readonly text: string
}

export class TestBrowser {
  /** Broken rules of the policy, thrown errors, alerts. */
  readonly faults: string[] = []
  readonly received: Received[] = []
  #browser: Browser | undefined
  readonly #pages: Page[] = []

  async start(): Promise<void> {
    const executablePath = chromiumProgram()
    this.#browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  }

  /** Opens an address, and notes what the browser complains of. */
  async open(url: string, options: BrowserContextOptions = WIDE): Promise<Page> {
    if (!this.#browser) throw new Error('The browser has not started.')
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

  async close(): Promise<void> {
    await this.#browser?.close()
  }
}

/**
 * Starts a browser for all tests of a file. After each test it closes the pages, and the test fails
 * when they had faults.
 */
export function browserOfFile(): TestBrowser {
  const browser = new TestBrowser()
  beforeAll(() => browser.start())
  afterAll(() => browser.close())
  afterEach(async () => {
    await browser.closePages()
    browser.received.splice(0)
    expect(browser.faults.splice(0)).toEqual([])
  })
  return browser
}
