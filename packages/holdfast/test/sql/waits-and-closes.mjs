/** Waits for a lock, closes its locks and its pool, and prints a line then. */
import { createLocks } from 'holdfast'
import { openStore } from './open-store.mjs'

const [library, url] = process.argv.slice(2)
const { pool, store } = openStore(library, url)
const [holder, waiter] = [createLocks(store), createLocks(store)]
const lease = await holder.mutex('life').acquire()
await waiter.mutex('life').tryAcquire({ waitMs: 500 })
await lease.release()
await waiter.close()
await holder.close()
await pool.end()
process.stdout.write('closed\n')
