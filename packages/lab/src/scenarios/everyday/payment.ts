/** A payment callback that comes three times: the parcel must leave once. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { linesOf, log, TOGETHER, withLocks, type Everyday, type PlaySettings } from './play.js'
import type { Stage } from '../../processes/protocol.js'

const SHIPPING_MS = 20

async function shipOnce({ folder, index }: PlaySettings, stage: Stage): Promise<void> {
  const shipped = join(folder, 'shipped')
  if (existsSync(shipped)) return
  await stage.meet(TOGETHER)
  await sleep(SHIPPING_MS)
  log(folder, 'parcels', `parcel from server ${index + 1}`)
  writeFileSync(shipped, 'yes')
}

export const payment: Everyday = {
  id: 'payment',
  processes: 3,
  meetsUnderLock: true,
  play: (settings, stage) =>
    settings.withLock
      ? withLocks(settings.folder, (locks) =>
          locks.mutex('order:42').run(() => shipOnce(settings, stage)),
        )
      : shipOnce(settings, stage),
  count: (folder) => {
    const parcels = linesOf(folder, 'parcels').length
    return { damage: Math.max(0, parcels - 1), done: parcels }
  },
}
