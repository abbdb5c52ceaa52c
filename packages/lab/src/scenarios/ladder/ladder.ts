/** `lab ladder`: from SETNX to fencing, each rung broken by its fault and mended by the next. */
import type { Keep } from '../../visit.js'
import type { Services } from '../../services/services.js'
import type { Timeline } from '../../report/timeline.js'
import { FAULTS, withFaultServers, type Fault } from './faults.js'
import { Scene } from './scene.js'

/** One fault, played with one lock. */
export interface LadderTake {
  /** A control's id, or `holdfast`. */
  readonly subject: string
  readonly broke: boolean
  readonly timeline: Timeline
}

export interface LadderStep {
  readonly fault: string
  readonly broken: LadderTake
  readonly cured: LadderTake
  /** The rung broke and the next one held. */
  readonly asExpected: boolean
}

export interface LadderResult {
  readonly steps: readonly LadderStep[]
}

/** Whole seconds, since some rungs count in them. */
const TTL_MS = 1000

/** Plays the ladder. Resolves to undefined when there is no Redis to play it on. */
export async function ladder(
  services: Services,
  played: (step: LadderStep) => void,
  began: (fault: string) => void,
  keep: Keep,
): Promise<LadderResult | undefined> {
  const redis = await services.address('redis')
  if (redis === undefined) return undefined
  const steps: LadderStep[] = []
  for (const fault of FAULTS) {
    began(fault.id)
    const broken = await play(fault, fault.breaks, redis, keep)
    const cured = await play(fault, fault.curedBy, redis, keep)
    const step = { fault: fault.id, broken, cured, asExpected: broken.broke && !cured.broke }
    steps.push(step)
    played(step)
  }
  return { steps }
}

function play(fault: Fault, subject: string, redis: string, keep: Keep): Promise<LadderTake> {
  return withFaultServers(keep, async (servers) => {
    const scene = new Scene({
      subject,
      redis,
      lock: `ladder:${fault.id}:${subject}`,
      ttlMs: TTL_MS,
    })
    keep(() => scene.finish())
    try {
      const broke = await fault.play(scene, servers)
      await scene.finish()
      return { subject, broke, timeline: scene.timeline }
    } finally {
      await scene.finish()
    }
  })
}
