/**
 * Sells a book if one is left. The shop remembers the largest fencing token that it has seen. So a
 * seller that was stopped for longer than its lease sells nothing when it continues.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'

const [folder = '.', books = '3'] = process.argv.slice(2)
const file = join(folder, 'stock.json')
mkdirSync(folder, { recursive: true })

const locks = createLocks(embeddedStore({ directory: join(folder, 'locks') }))

function readStock() {
  return existsSync(file)
    ? JSON.parse(readFileSync(file, 'utf8'))
    : { left: Number(books), token: '0' }
}

/** The protected resource: it takes no write whose token is smaller than one that it has seen. */
function writeStock(left, token) {
  if (token < BigInt(readStock().token)) throw new Error('a later holder has had the lock')
  writeFileSync(`${file}.new`, JSON.stringify({ left, token: String(token) }))
  renameSync(`${file}.new`, file)
}

await locks.mutex('stock').run(async (lease) => {
  const { left } = readStock()
  if (left === 0) {
    console.log('sold out')
    return
  }
  await sleep(20) // the payment
  lease.assertHeld()
  writeStock(left - 1, lease.token)
  console.log('sold a book')
})

await locks.close()
