/** Curator's InterProcessMutex, from Debian's libcurator-recipes-java: `curator.js ADDRESS THREADS own|one`. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../../peers/Curator.java', import.meta.url))
const { status, stdout } = spawnSync(
  'java',
  ['-cp', '/usr/share/java/*', program, ...process.argv.slice(2)],
  {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  },
)
if (status !== 0) throw new Error(`Curator ended with ${status}.`)
console.log(stdout.trim())
