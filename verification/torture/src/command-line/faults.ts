/** What goes wrong with a run alone: with its wrapper, its guardian and its command. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Fault, RunFaultKind } from '@holdfast/stores/faults/catalogue'
import type { Heal } from '@holdfast/stores/faults/target'
import type { Contender } from './contender.js'
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

/** @param contenders all of them; the fault names one, if it cannot meet any */
type Drive = (fault: Fault, contenders: readonly Contender[]) => Promise<Heal>

/** Meets a command at work, or any that is there after a while. */
function atWork(strike: (wrapper: Wrapper, fault: Fault) => Heal | void): Drive {
  return async (fault, contenders) => {
    const contender = contenders[Number(fault.client)]
    await contender?.holding()
    return (contender?.wrapper && strike(contender.wrapper, fault)) ?? NOTHING
  }
}

const NOTHING: Heal = () => undefined

export const RUN_FAULTS: Readonly<Record<RunFaultKind, Drive>> = {
  'command-kill': atWork((wrapper) => wrapper.kill('command')),
  async 'command-alone'(_fault, contenders) {
    const contender = await withChildAtWork(contenders)
    contender?.stay()
    contender?.wrapper?.observe()
    contender?.wrapper?.killCommandAlone()
    return NOTHING
  },
  'guardian-kill': atWork((wrapper) => wrapper.kill('guardian')),
  orphan: atWork((wrapper) => wrapper.kill('guardian', 'wrapper')),
  'at-limits': atWork((wrapper) => {
    wrapper.limitGuardian()
    wrapper.kill('wrapper')
  }),
  'command-pause': atWork((wrapper) => wrapper.stop('command')),
  'guardian-pause': atWork((wrapper) => wrapper.stop('guardian')),
  freeze: atWork((wrapper) => wrapper.stop('guardian', 'wrapper', 'command')),
  signal: atWork((wrapper, { byMs }) => wrapper.tell(ENDINGS[byMs % ENDINGS.length] as Ending)),
  suspend: atWork((wrapper) => wrapper.suspend()),
  async 'start-kill'({ byMs }, contenders) {
    const wrapper = (await nextStart(contenders))?.wrapper
    await sleep(byMs % START_MS)
    wrapper?.observe()
    wrapper?.kill(PARTS[Math.floor(byMs / START_MS)] ?? 'wrapper')
    return NOTHING
  },
  /**
   * The wrapper finds everything ready as it wakes, and must notice by itself that its lease is
   * over.
   */
  async 'late-gate'(_fault, contenders) {
    const endMs = performance.now() + STARTING_MS
    while (performance.now() < endMs) {
      const contender = await nextStart(contenders)
      const wrapper = contender?.wrapper
      if (!wrapper) break
      const letAnswer = wrapper.stop('guardian')
      await sleep(HOLD_BACK_MS)
      const isInTime = contender.wrapper === wrapper && contender.waiting
      const goOn = isInTime ? wrapper.stop('wrapper') : undefined
      letAnswer()
      if (goOn) return () => besideAnother(contenders, contender, goOn)
    }
    return NOTHING
  },
}

/**
 * Resolves when the commands that the fault meets are at work, and will be for longer than a lease.
 * A command that ends sooner has no lease to lose. Resolves without one after a while.
 */
export async function meetHolders(
  { client }: Fault,
  contenders: readonly Contender[],
): Promise<void> {
  if (client !== 'all') await contenders[client]?.holding()
  else for (const contender of contenders) if (contender.atWork) contender.stay()
}

/** Lets a late run go on when another one has the lock, if that comes soon. */
async function besideAnother(
  contenders: readonly Contender[],
  late: Contender,
  goOn: () => void,
): Promise<void> {
  const endMs = performance.now() + STARTING_MS
  const isAtWork = (contender: Contender): boolean =>
    contender !== late && contender.atWork && contender.wrapper?.record.wish.lock === 'mutex'
  let other: Contender | undefined
  while (!other && performance.now() < endMs) {
    other = contenders.find(isAtWork)
    await sleep(1)
  }
  other?.stay()
  goOn()
}

/** Resolves to a run whose command is at work with a child, if there is one soon. */
async function withChildAtWork(contenders: readonly Contender[]): Promise<Contender | undefined> {
  const endMs = performance.now() + STARTING_MS
  while (performance.now() < endMs) {
    const found = contenders.find(
      ({ atWork, wrapper }) => atWork && wrapper?.record.wish.temper === 'family',
    )
    if (found) return found
    await sleep(1)
  }
  return undefined
}

/**
 * Resolves to the next run for the mutex whose guardian appears: it has the lock, and its command
 * is about to start.
 */
async function nextStart(contenders: readonly Contender[]): Promise<Contender | undefined> {
  const endMs = performance.now() + STARTING_MS
  observeAll(contenders)
  // Those that are here already may be past that moment.
  const past = new Set(
    contenders.map(({ wrapper }) => wrapper).filter((wrapper) => wrapper?.guarded),
  )
  while (performance.now() < endMs) {
    observeAll(contenders)
    const found = contenders.find(
      ({ wrapper }) =>
        wrapper?.guarded && !past.has(wrapper) && wrapper.record.wish.lock === 'mutex',
    )
    if (found) return found
    await sleep(1)
  }
  return undefined
}

function observeAll(contenders: readonly Contender[]): void {
  for (const { wrapper } of contenders) wrapper?.observe()
}
