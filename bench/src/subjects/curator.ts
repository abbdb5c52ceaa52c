/**
 * Curator's InterProcessMutex, from Debian's libcurator-recipes-java: `curator.js ADDRESS THREADS
 * own|one PROCESSES`. What the processes do is added up.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const [address = '', threads = '1', locks = 'own', processes = '1'] = process.argv.slice(2)
const program = fileURLToPath(new URL('../../peers/Curator.java', import.meta.url))
const run = promisify(execFile)

const results = await Promise.all(
  Array.from({ length: Number(processes) }, async () => {
    const { stdout } = await run('java', [
      '-cp',
      '/usr/share/java/*',
      program,
      address,
      threads,
      locks,
    ])
    return JSON.parse(stdout) as { pairs: number }
  }),
)
console.log(JSON.stringify({ pairs: results.reduce((sum, { pairs }) => sum + pairs, 0) }))
