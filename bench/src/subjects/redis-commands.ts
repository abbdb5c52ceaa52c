/**
 * What the server is asked to do for a pair: `redis-commands.js PORT` counts script calls and
 * messages.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis5'
import { makeLocker } from './redis-lockers.js'

const FREE_PAIRS = 2000
const PROCESSES = 4
const LOOPS = 16
const PAIRS_OF_A_LOOP = 100

const [port = '6379', role] = process.argv.slice(2)
if (role === undefined) await lead()
else await follow()

async function lead(): Promise<void> {
  const server = new Redis(Number(port))
  const acquire = makeLocker('cohort', Number(port))('commands of a free lock')
  await (
    await acquire()
  )()
  const free = await counting(server, FREE_PAIRS, async () => {
    for (let pair = 0; pair < FREE_PAIRS; pair += 1) {
      const release = await acquire()
      await release()
    }
  })
  const hot = await counting(server, PROCESSES * LOOPS * PAIRS_OF_A_LOOP, async () => {
    await Promise.all(Array.from({ length: PROCESSES }, startFollower))
  })
  const { scripts: freeScripts, published: freePublished } = free
  const { scripts: hotScripts, published: hotPublished } = hot
  console.log(JSON.stringify({ freeScripts, freePublished, hotScripts, hotPublished }))
  process.exit(0)
}

async function counting(
  server: Redis,
  pairs: number,
  run: () => Promise<void>,
): Promise<{ scripts: number; published: number }> {
  await server.config('RESETSTAT')
  await run()
  const stats = await server.info('commandstats')
  const calls = (name: string): number =>
    Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
  return {
    scripts: (calls('evalsha') + calls('eval')) / pairs,
    published: calls('publish') / pairs,
  }
}

function startFollower(): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), [port, 'follower'])
    child.on('error', reject)
    child.on('exit', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`a process of the hot lock ended with ${code}`))
    })
  })
}

async function follow(): Promise<void> {
  const acquire = makeLocker('fifo', Number(port))('commands of a hot lock')
  await Promise.all(
    Array.from({ length: LOOPS }, async () => {
      for (let pair = 0; pair < PAIRS_OF_A_LOOP; pair += 1) {
        const release = await acquire()
        await release()
      }
    }),
  )
  process.exit(0)
}
