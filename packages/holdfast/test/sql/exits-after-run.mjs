/** Runs work under locks without waiting for the releases, and ends the process at once. */
import { createLocks } from 'holdfast'
import { openStore } from './open-store.mjs'

const [library, url, ...names] = process.argv.slice(2)
const { store } = openStore(library, url)
const locks = createLocks(store, { awaitRelease: false })
await Promise.all(names.map((name) => locks.mutex(name).run(() => undefined)))
process.exit(0)
