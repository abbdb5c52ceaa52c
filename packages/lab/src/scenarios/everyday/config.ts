/** One configuration file and four programs that add to it: no setting may get lost. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { TOGETHER, withLocks, type Everyday, type PlaySettings } from './play.js'
import type { Stage } from '../../processes/protocol.js'

const PROGRAMS = 4
const SETTINGS = 5
const EDIT_MS = 5

type Config = Record<string, number>

function readConfig(folder: string): Config {
  const file = join(folder, 'config.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Config) : {}
}

async function add({ folder, index }: PlaySettings, stage: Stage, number: number): Promise<void> {
  const config = readConfig(folder)
  if (number === 0) await stage.meet(TOGETHER)
  config[`program${index + 1}.setting${number + 1}`] = number
  await sleep(EDIT_MS)
  // The rename keeps readers from half a file. It does not save what other programs have written
  // meanwhile.
  const draft = join(folder, `config.json.${index}`)
  writeFileSync(draft, JSON.stringify(config))
  renameSync(draft, join(folder, 'config.json'))
}

export const config: Everyday = {
  id: 'config',
  processes: PROGRAMS,
  meetsUnderLock: true,
  play: (settings, stage) =>
    settings.withLock
      ? withLocks(settings.folder, async (locks) => {
          for (let number = 0; number < SETTINGS; number += 1) {
            await locks.mutex('config.json').run(() => add(settings, stage, number))
          }
        })
      : (async () => {
          for (let number = 0; number < SETTINGS; number += 1) await add(settings, stage, number)
        })(),
  count: (folder) => {
    const kept = Object.keys(readConfig(folder)).length
    return { damage: PROGRAMS * SETTINGS - kept, done: kept }
  },
}
