/**
 * Opens each page of the built site in Chromium, wide and light, then narrow and dark. Fails where
 * axe finds an obstacle, where a page is wider than the screen, or where the browser complains.
 * `node checks/pages.mjs /faq …` checks these pages alone.
 */
import { existsSync, readdirSync } from 'node:fs'
import axe from 'axe-core'
import { chromium } from 'playwright-core'
import { DIST, serveSite } from './serve.mjs'

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser']
const VIEWS = [
  { name: 'wide, light', viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  { name: 'narrow, dark', viewport: { width: 400, height: 800 }, colorScheme: 'dark' },
]

const executablePath = BROWSERS.find((path) => existsSync(path))
if (executablePath === undefined) throw new Error('There is no Chromium: node scripts/needs.mjs')

const chosen = process.argv.slice(2)
const paths = chosen.length > 0 ? chosen : pagesOfSite()
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
console.log(`   ${paths.length} pages, ${VIEWS.length} views each, axe ${axe.version}`)
if (faults.length > 0) throw new Error(`${faults.length} faults in the pages of the site.`)

/** @param {typeof VIEWS[number]} view */
async function faultsIn({ name, ...options }) {
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
    for (const text of await page.evaluate(obstacles)) note(text)
  }
  await context.close()
  return found
}

/** Runs in the page. */
async function obstacles() {
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth
  const { violations } = await window.axe.run(document, {
    resultTypes: ['violations'],
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'],
  })
  return [
    ...(wide > 0 ? [`the page is ${wide} px wider than the screen`] : []),
    ...violations.map(
      ({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes.length} times, first ${nodes[0]?.html.slice(0, 160)}`,
    ),
  ]
}

/** Returns the addresses of all pages but that of an error. */
function pagesOfSite() {
  return readdirSync(DIST, { recursive: true })
    .filter((file) => file.endsWith('.html') && file !== '404.html')
    .map((file) => `/${file.replace(/(^|\/)index\.html$/, '$1').replace(/\.html$/, '')}`)
    .toSorted()
}
