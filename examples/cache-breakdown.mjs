/**
 * A popular cache entry is gone, a thousand requests come at once, and the database is asked once.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'

const [folder = '.'] = process.argv.slice(2)
const file = join(folder, 'front-page.html')
mkdirSync(folder, { recursive: true })

const locks = createLocks(embeddedStore({ directory: join(folder, 'locks') }))
const frontPage = locks.singleFlight('front-page')

async function askDatabase() {
  console.log('the database is asked')
  await sleep(100)
  writeFileSync(file, '<h1>Front page</h1>')
  return '<h1>Front page</h1>'
}

function request() {
  return frontPage.run(askDatabase, {
    read: () => (existsSync(file) ? readFileSync(file, 'utf8') : undefined),
  })
}

const pages = await Promise.all(Array.from({ length: 1000 }, request))
console.log(`${pages.length} requests were answered`)

await locks.close()
