/** The everyday scenarios, each without a lock and with one, and the damage counted. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Arrival } from '../../actor.js'
import { ActorGroup } from '../../processes/actor-group.js'
import type { Keep } from '../../visit.js'
import { cache } from './cache.js'
import { config } from './config.js'
import { payment } from './payment.js'
import type { Everyday, PlaySettings } from './play.js'
import { schedule } from './schedule.js'

export const EVERYDAY: readonly Everyday[] = [payment, schedule, cache, config]

export interface EverydayTake {
  readonly damage: number
  readonly done: number
  readonly ms: number
}

export interface EverydayResult {
  readonly scenario: Everyday['id']
  readonly without: EverydayTake
  readonly withLock: EverydayTake
  /** Damage without the lock, and none with it. */
  readonly asExpected: boolean
}

/**
 * Where the meeting is under the lock the others cannot come, and the holder waits for them no
 * longer than this.
 */
const BEHIND_LOCK_MS = 400
/**
 * Everywhere else they all come, sooner or later: also from a lock that they have kept for a
 * second.
 */
const ALL_COME_MS = 20_000

export async function everyday(scenario: Everyday, keep: Keep): Promise<EverydayResult> {
  const without = await take(scenario, false, keep)
  const withLock = await take(scenario, true, keep)
  const asExpected = without.damage > 0 && withLock.damage === 0
  return { scenario: scenario.id, without, withLock, asExpected }
}

async function take(scenario: Everyday, withLock: boolean, keep: Keep): Promise<EverydayTake> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-lab-'))
  const group = new ActorGroup(scenario.processes)
  const end = async (): Promise<void> => {
    await group.end()
    rmSync(folder, { recursive: true, force: true })
  }
  keep(end)
  try {
    const behindLock = withLock && scenario.meetsUnderLock
    const meeting = new Meeting(scenario.processes, behindLock ? BEHIND_LOCK_MS : ALL_COME_MS)
    const settingsOf = (index: number): PlaySettings => ({ withLock, folder, index })
    const startMs = performance.now()
    const outcomes = await group.play(scenario.id, settingsOf, {
      arrived: (arrival) => meeting.join(arrival),
    })
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    return { ...scenario.count(folder), ms: performance.now() - startMs }
  } finally {
    await end()
  }
}

/** Lets the processes continue when all are there, or when no other has come for a while. */
class Meeting {
  readonly #size: number
  readonly #maxWaitMs: number
  #timer: NodeJS.Timeout | undefined
  #here: Arrival[] = []

  constructor(size: number, maxWaitMs: number) {
    this.#size = size
    this.#maxWaitMs = maxWaitMs
  }

  join(arrival: Arrival): void {
    this.#here.push(arrival)
    if (this.#here.length === this.#size) this.#disperse()
    else this.#timer ??= setTimeout(() => this.#disperse(), this.#maxWaitMs)
  }

  #disperse(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const { go } of this.#here) go()
    this.#here = []
  }
}
