/** How long a page of the console shows drawn placeholders after a far scroll, in Chromium. */
import { chromiumProgram } from '@holdfast/servers/chromium'
import { chromium } from 'playwright-core'

const SCROLLS = 20
const MOST_MS = 5000

/** Scrolls to places that are far from each other, and returns when the rows there are drawn. */
const SCROLL_AND_TIME = `(share) => new Promise((resolve) => {
  const box = document.querySelector('.window')
  box.scrollIntoView()
  const { left, top, width, height, bottom } = box.getBoundingClientRect()
  const shown = Math.min(bottom, innerHeight) - top
  const isFilled = () => [0.3, 0.6, 0.9].every((part) => {
    const row = document.elementFromPoint(left + width / 3, top + shown * part)?.closest('tr')
    return row !== null && row !== undefined && !row.classList.contains('spacer')
  })
  const startMs = performance.now()
  box.scrollTop = Math.round((box.scrollHeight - height) * share)
  const look = () => {
    const tookMs = performance.now() - startMs
    if (isFilled() || tookMs > ${MOST_MS}) resolve(tookMs)
    else requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
})`

/** Resolves to the times of the scrolls, in milliseconds. */
export async function scrollTimes(address: string): Promise<number[]> {
  const executablePath = chromiumProgram()
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 860 } })
    await page.goto(address)
    await page.locator('.window tbody tr:not(.spacer)').first().waitFor()
    const times: number[] = []
    for (let index = 1; index <= SCROLLS; index += 1) {
      const share = (index * 0.618) % 1
      times.push(await page.evaluate<number>(`(${SCROLL_AND_TIME})(${share})`))
    }
    return times
  } finally {
    await browser.close()
  }
}
