/**
 * Sells a book from a stock in segments, each under a lock of its own: buyers of different segments
 * do not wait for each other. A segment that runs dry gets half of the fullest one, under the locks
 * of both.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'

const SEGMENTS = 4

const [folder = '.', buyer = 'buyer', books = '8'] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })

const locks = createLocks(embeddedStore({ directory: join(folder, 'locks') }))
const stripes = locks.striped('stock', { stripes: SEGMENTS })
const fileOf = (segment) => join(folder, `segment-${segment}`)

function amountIn(segment) {
  return existsSync(fileOf(segment))
    ? Number(readFileSync(fileOf(segment), 'utf8'))
    : Number(books) / SEGMENTS
}

function setAmount(segment, amount) {
  writeFileSync(`${fileOf(segment)}.new`, String(amount))
  renameSync(`${fileOf(segment)}.new`, fileOf(segment))
}

/**
 * Both locks at once, in the order of their names: two buyers of the same pair do not wait for each
 * other forever.
 */
function bringOver(from, to) {
  return locks.multi([stripes.at(from), stripes.at(to)]).run(() => {
    const moved = Math.ceil(amountIn(from) / 2)
    setAmount(from, amountIn(from) - moved)
    setAmount(to, amountIn(to) + moved)
  })
}

/** Stock moves under two locks only, so all of them show whether anything is left. */
function fullest() {
  const all = Array.from({ length: SEGMENTS }, (_, segment) => stripes.at(segment))
  return locks.multi(all).run(() => {
    const amounts = all.map((_, segment) => amountIn(segment))
    const most = Math.max(...amounts)
    return most === 0 ? undefined : amounts.indexOf(most)
  })
}

async function buy() {
  const own = stripes.indexOf(buyer)
  for (;;) {
    const sold = await stripes.at(own).run(async (lease) => {
      const left = amountIn(own)
      if (left === 0) return false
      await sleep(20) // the payment
      lease.assertHeld()
      setAmount(own, left - 1)
      return true
    })
    if (sold) return 'sold a book'
    const from = await fullest()
    if (from === undefined) return 'sold out'
    if (from !== own) await bringOver(from, own)
  }
}

console.log(await buy())
await locks.close()
