/**
 * Looks at a console as its page does, at other rows each: `console-viewers.js ADDRESS COUNT`. By
 * messages of its parent it pauses, resumes, and sends how long the answers took.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { requestFor, type View } from '../console/view.js'

const ROWS = 80

const [address = '', count = '1'] = process.argv.slice(2)
let isPaused = false
let times: number[] = []

async function look(offset: number): Promise<void> {
  const [url, headers] = requestFor(address, `?offset=${offset}&limit=${ROWS}`)
  let etag: string | undefined
  let refreshMs = 1000
  for (;;) {
    if (!isPaused) {
      const startMs = performance.now()
      const known = etag === undefined ? {} : { 'if-none-match': etag }
      const answer = await fetch(url, { headers: { ...headers, ...known } })
      const text = await answer.text()
      times.push(performance.now() - startMs)
      etag = answer.headers.get('etag') ?? undefined
      if (text !== '') ({ refreshMs } = JSON.parse(text) as View)
    }
    await sleep(refreshMs)
  }
}

for (let viewer = 0; viewer < Number(count); viewer += 1) void look(viewer * ROWS)

process.on('message', (order) => {
  if (order === 'times') {
    process.send?.(times)
    times = []
  } else {
    isPaused = order === 'pause'
    process.send?.(order)
  }
})
process.send?.('ready')
