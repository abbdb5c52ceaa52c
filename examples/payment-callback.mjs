/** Ships an order once, however often the payment provider calls back. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'

const [folder = '.', order = '42'] = process.argv.slice(2)
const receipt = join(folder, `order-${order}.shipped`)
mkdirSync(folder, { recursive: true })

const locks = createLocks(embeddedStore({ directory: join(folder, 'locks') }))

await locks.mutex(`order:${order}`).run(async (lease) => {
  if (existsSync(receipt)) {
    console.log(`order ${order} was shipped before`)
    return
  }
  // Pass the signal to each slow call: it aborts if the lock is lost.
  await sleep(50, undefined, { signal: lease.signal })
  lease.assertHeld()
  writeFileSync(receipt, new Date().toISOString())
  console.log(`order ${order} ships now`)
})

await locks.close()
