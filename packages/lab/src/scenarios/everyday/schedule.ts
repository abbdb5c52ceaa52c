/** A nightly job on five nodes whose clocks differ: it must run once a night. */
import { setTimeout as sleep } from 'node:timers/promises'
import { linesOf, log, withLocks, type Everyday, type PlaySettings } from './play.js'
import type { Stage } from '../../processes/protocol.js'

const NODES = 5
const NIGHTS = 3
/** By how much each node's clock is later than the one before it. */
const SKEW_MS = 30
const WORK_MS = 10
/**
 * Much longer than all clocks differ, and shorter than a night: also a late node finds the lock
 * still taken.
 */
const AT_LEAST_MS = 1000

async function work({ folder, index }: PlaySettings, night: number): Promise<void> {
  log(folder, 'runs', `night ${night + 1}, node ${index + 1}`)
  await sleep(WORK_MS)
}

async function eachNight(
  settings: PlaySettings,
  stage: Stage,
  job: (night: number) => Promise<void>,
): Promise<void> {
  for (let night = 0; night < NIGHTS; night += 1) {
    await stage.meet('dusk')
    await sleep(settings.index * SKEW_MS)
    await job(night)
  }
}

export const schedule: Everyday = {
  id: 'schedule',
  processes: NODES,
  meetsUnderLock: false,
  play: (settings, stage) =>
    settings.withLock
      ? withLocks(settings.folder, (locks) =>
          eachNight(settings, stage, async (night) => {
            const lease = await locks.mutex('nightly').tryAcquire()
            if (!lease) return
            await Promise.all([work(settings, night), sleep(AT_LEAST_MS)])
            await lease.release()
          }),
        )
      : eachNight(settings, stage, (night) => work(settings, night)),
  count: (folder) => {
    const runs = linesOf(folder, 'runs').length
    return { damage: Math.abs(runs - NIGHTS), done: runs }
  },
}
