/**
 * Changes one setting in a file that several programs change: under the lock it is read, changed
 * and written.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'

const [folder = '.', name = 'colour', value = 'blue'] = process.argv.slice(2)
const file = join(folder, 'config.json')
mkdirSync(folder, { recursive: true })

const locks = createLocks(embeddedStore({ directory: join(folder, 'locks') }))

await locks.mutex('config.json').run(() => {
  const config = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  config[name] = value
  // Renamed into its place, so that readers need no lock: they never see half a file.
  writeFileSync(`${file}.new`, JSON.stringify(config, undefined, 2))
  renameSync(`${file}.new`, file)
})

await locks.close()
