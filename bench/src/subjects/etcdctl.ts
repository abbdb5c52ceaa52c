/**
 * `etcdctl lock`, which has a process for each pair: `etcdctl.js ADDRESS LOOPS`, all loops on one
 * lock.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const [address = '', loops = '1'] = process.argv.slice(2)
const RUN_MS = 3000
const run = promisify(execFile)

const startMs = performance.now()
let pairs = 0
await Promise.all(
  Array.from({ length: Number(loops) }, async () => {
    while (performance.now() < startMs + RUN_MS) {
      await run('etcdctl', [`--endpoints=${address}`, 'lock', 'bench', 'true'], {
        env: { ...process.env, ETCDCTL_API: '3' },
      })
      pairs += 1
    }
  }),
)
console.log(JSON.stringify({ pairs: (pairs / (performance.now() - startMs)) * 1000 }))
