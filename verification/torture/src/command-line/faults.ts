/** What goes wrong with a run alone: with its wrapper, its guardian and its command. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Fault, RunFaultKind } from '../faults/catalogue.js'
import type { Heal } from '../targets/target.js'
import type { Place } from './place.js'
import type { Ending, Part } from './record.js'
import type { Wrapper } from './wrapper.js'

const ENDINGS: readonly Ending[] = ['SIGTERM', 'SIGINT', 'SIGHUP']
const PARTS: readonly Part[] = ['wrapper', 'guardian', 'command']
/**
 * So long the guardian keeps its answer back: by then everything else that stands before the start
 * is done.
 */
const HOLD_BACK_MS = 120
/** A kill during the start falls within this many milliseconds. */
const START_MS = 12
/** A command starts within this time, or the fault meets none. */
const STARTING_MS = 4000

/** @param places all of them; the fault names one, if it cannot meet any */
type Drive = (fault: Fault, places: readonly Place[]) => Promise<Heal>

/** Meets a command at work, or any that is there after a while. */
function atWork(strike: (wrapper: Wrapper, fault: Fault) => Heal | void): Drive {
  return async (fault, places) => {
    const place = places[Number(fault.client)]
    await place?.holding()
    return (place?.wrapper && strike(place.wrapper, fault)) ?? NOTHING
  }
}

const NOTHING: Heal = () => undefined

export const RUN_FAULTS: Readonly<Record<RunFaultKind, Drive>> = {
  'command-kill': atWork((wrapper) => wrapper.kill('command')),
  'guardian-kill': atWork((wrapper) => wrapper.kill('guardian')),
  orphan: atWork((wrapper) => wrapper.kill('guardian', 'wrapper')),
  'command-pause': atWork((wrapper) => wrapper.stop('command')),
  'guardian-pause': atWork((wrapper) => wrapper.stop('guardian')),
  freeze: atWork((wrapper) => wrapper.stop('guardian', 'wrapper', 'command')),
  signal: atWork((wrapper, { byMs }) => wrapper.tell(ENDINGS[byMs % ENDINGS.length] as Ending)),
  suspend: atWork((wrapper) => wrapper.suspend()),
  async 'start-kill'({ byMs }, places) {
    const wrapper = (await nextStart(places))?.wrapper
    await sleep(byMs % START_MS)
    wrapper?.look()
    wrapper?.kill(PARTS[Math.floor(byMs / START_MS)] ?? 'wrapper')
    return NOTHING
  },
  /**
   * The wrapper finds everything ready as it wakes, and must notice by itself that its lease is
   * over.
   */
  async 'late-gate'(_fault, places) {
    const endMs = performance.now() + STARTING_MS
    while (performance.now() < endMs) {
      const place = await nextStart(places)
      const wrapper = place?.wrapper
      if (!wrapper) break
      const letAnswer = wrapper.stop('guardian')
      await sleep(HOLD_BACK_MS)
      const isInTime = place.wrapper === wrapper && place.waiting
      const goOn = isInTime ? wrapper.stop('wrapper') : undefined
      letAnswer()
      if (goOn) return () => besideAnother(places, place, goOn)
    }
    return NOTHING
  },
}

/** Lets a late run go on when another one has the lock, if that comes soon. */
async function besideAnother(
  places: readonly Place[],
  late: Place,
  goOn: () => void,
): Promise<void> {
  const endMs = performance.now() + STARTING_MS
  const isAtWork = (place: Place): boolean =>
    place !== late && place.atWork && place.wrapper?.record.wish.lock === 'mutex'
  let other: Place | undefined
  while (!other && performance.now() < endMs) {
    other = places.find(isAtWork)
    await sleep(1)
  }
  other?.stay()
  goOn()
}

/**
 * Resolves to the next run for the mutex whose guardian appears: it has the lock, and its command
 * is about to start.
 */
async function nextStart(places: readonly Place[]): Promise<Place | undefined> {
  const endMs = performance.now() + STARTING_MS
  look(places)
  // Those that are here already may be past that moment.
  const past = new Set(places.map(({ wrapper }) => wrapper).filter((wrapper) => wrapper?.guarded))
  while (performance.now() < endMs) {
    look(places)
    const found = places.find(
      ({ wrapper }) =>
        wrapper?.guarded && !past.has(wrapper) && wrapper.record.wish.lock === 'mutex',
    )
    if (found) return found
    await sleep(1)
  }
  return undefined
}

function look(places: readonly Place[]): void {
  for (const { wrapper } of places) wrapper?.look()
}
