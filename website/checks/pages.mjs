/**
 * Opens each page of the built site in Chromium, wide and light, then narrow and dark. Opens a page
 * of each kind in the two other ways, too. Fails where axe finds an obstacle, where text is cut
 * off, tiny or torn, or where the browser complains.
 * `node checks/pages.mjs /faq …` checks these pages alone.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import { chromium } from 'playwright-core'
import { SMALLEST_TEXT } from '../.vitepress/pictures.mjs'
import { DIST, serveSite } from './serve.mjs'

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser']
const LAYOUT = join(import.meta.dirname, 'layout.js')
const WIDE = { width: 1280, height: 900 }
const NARROW = { width: 400, height: 800 }
const KINDS = [
  '/',
  '/benchmarks',
  '/faq',
  '/guarantees',
  '/how-to/payment-callback',
  '/operate/troubleshooting',
  '/reference/options',
  '/stores/redis',
  '/zh/',
  '/zh/choosing',
  '/zh/payment-callback',
]

const executablePath = BROWSERS.find((path) => existsSync(path))
if (executablePath === undefined) throw new Error('There is no Chromium: node scripts/needs.mjs')

const chosen = process.argv.slice(2)
const all = chosen.length > 0 ? chosen : pagesOfSite()
const kinds = chosen.length > 0 ? chosen : KINDS
const VIEWS = [
  { name: 'wide, light', paths: all, viewport: WIDE, colorScheme: 'light' },
  { name: 'narrow, dark', paths: all, viewport: NARROW, colorScheme: 'dark' },
  { name: 'wide, dark', paths: kinds, viewport: WIDE, colorScheme: 'dark' },
  { name: 'narrow, light', paths: kinds, viewport: NARROW, colorScheme: 'light' },
]
const site = await serveSite()
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
const faults = []
try {
  for (const view of VIEWS) faults.push(...(await faultsIn(view)))
} finally {
  await browser.close()
  site.close()
}
for (const fault of faults) console.error(fault)
console.log(`   ${all.length} pages, axe ${axe.version}`)
if (faults.length > 0) throw new Error(`${faults.length} faults in the pages of the site.`)

/** @param {typeof VIEWS[number]} view */
async function faultsIn({ name, paths, ...options }) {
  const context = await browser.newContext({ ...options, reducedMotion: 'reduce' })
  const page = await context.newPage()
  const found = []
  let path = ''
  const note = (/** @type {string} */ text) => found.push(`${path} (${name}): ${text}`)
  page.on('pageerror', (error) => note(`the page throws ${error.message}`))
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) note(`the console says ${message.text()}`)
  })
  for (path of paths) {
    await page.goto(`${site.origin}${path}`, { waitUntil: 'load' })
    // Vue marks the root when it has taken the page over.
    await page.waitForFunction(() => '__vue_app__' in document.querySelector('#app'))
    await page.evaluate(axe.source)
    await page.addScriptTag({ path: LAYOUT })
    for (const text of await page.evaluate(layout, SMALLEST_TEXT)) note(text)
    for (const text of await page.evaluate(obstacles)) note(text)
    for (const address of await page.evaluate(addresses))
      if (!leads(address)) note(`a link leads to ${address}, which is not there`)
  }
  await context.close()
  return found
}

/** Runs in the page: where its links lead, inside of the site. */
function addresses() {
  const links = [...document.querySelectorAll('a[href]')].map(({ href }) => new URL(href))
  return links.filter(({ origin }) => origin === location.origin).map(({ pathname }) => pathname)
}

/** @param {string} address */
function leads(address) {
  const file = address.endsWith('/') ? `${address}index.html` : address
  return existsSync(join(DIST, file)) || existsSync(join(DIST, `${file}.html`))
}

/** Runs in the page, beside layout.js. */
function layout(/** @type {number} */ smallestText) {
  return window.layoutFaults(smallestText)
}

/** Runs in the page. */
async function obstacles() {
  const { violations } = await window.axe.run(document, {
    resultTypes: ['violations'],
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'],
  })
  return violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes.length} times, first ${nodes[0]?.html.slice(0, 160)}`,
  )
}

/** Returns the addresses of all pages but that of an error. */
function pagesOfSite() {
  return readdirSync(DIST, { recursive: true })
    .filter((file) => file.endsWith('.html') && file !== '404.html')
    .map((file) => `/${file.replace(/(^|\/)index\.html$/, '$1').replace(/\.html$/, '')}`)
    .toSorted()
}
