/** A popular cache entry expires under a thousand requests: it must be built once. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { linesOf, log, TOGETHER, withLocks, type Everyday, type PlaySettings } from './play.js'
import type { Stage } from '../../processes/protocol.js'

const PROCESSES = 4
const REQUESTS = 1000
const BUILD_MS = 30

function cached({ folder }: PlaySettings): string | undefined {
  const file = join(folder, 'cache')
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

async function build({ folder, index }: PlaySettings): Promise<string> {
  log(folder, 'builds', `process ${index + 1}`)
  await sleep(BUILD_MS)
  writeFileSync(join(folder, 'cache'), 'the page')
  return 'the page'
}

async function requests(stage: Stage, answer: () => Promise<string>): Promise<void> {
  await stage.meet(TOGETHER)
  await Promise.all(Array.from({ length: REQUESTS / PROCESSES }, answer))
}

export const cache: Everyday = {
  id: 'cache',
  processes: PROCESSES,
  meetsUnderLock: false,
  play: (settings, stage) =>
    settings.withLock
      ? withLocks(settings.folder, (locks) => {
          const flight = locks.singleFlight('page:/')
          return requests(stage, () =>
            flight.run(() => build(settings), { read: () => cached(settings) }),
          )
        })
      : requests(stage, async () => cached(settings) ?? (await build(settings))),
  count: (folder) => {
    const builds = linesOf(folder, 'builds').length
    return { damage: Math.max(0, builds - 1), done: builds }
  },
}
