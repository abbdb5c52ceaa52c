/**
 * Runs work under locks without waiting for the releases, and ends the process at once. The last
 * release is the first one that does not travel with another attempt.
 */
import { createLocks } from 'holdfast'
import { openStore } from './open-store.mjs'

const [library, url, rounds, ...names] = process.argv.slice(2)
const { store } = openStore(library, url)
const locks = createLocks(store, { awaitRelease: false })
for (const name of names)
  for (let round = 0; round < Number(rounds); round += 1)
    await locks.mutex(name).run(() => undefined)
await Promise.all(names.map((name) => locks.mutex(`${name}:once`).run(() => undefined)))
process.exit(0)
