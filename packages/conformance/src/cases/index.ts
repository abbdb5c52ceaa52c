/** All cases: first of the verbs of a store, then of the locks that use them. */
import type { Case } from '../case.js'
import { administration } from './locks/administration.js'
import { atLeast } from './locks/at-least.js'
import { cohort } from './locks/cohort.js'
import { contention } from './locks/contention.js'
import { deadlocks } from './locks/deadlocks.js'
import { election } from './locks/election.js'
import { fencedHandles } from './locks/fenced-handles.js'
import { following } from './locks/following.js'
import { ghosts } from './locks/ghosts.js'
import { givingUp } from './locks/giving-up.js'
import { input } from './locks/input.js'
import { handles } from './locks/handles.js'
import { kinds } from './locks/kinds.js'
import { lease } from './locks/lease.js'
import { loss } from './locks/loss.js'
import { oncePerTick } from './locks/once-per-tick.js'
import { openReleases } from './locks/open-releases.js'
import { traces } from './locks/traces.js'
import { killedKeepers } from './killed-keepers.js'
import { processes } from './processes.js'
import { adopt } from './verbs/adopt.js'
import { attempt } from './verbs/attempt.js'
import { close } from './verbs/close.js'
import { downgrade } from './verbs/downgrade.js'
import { expiry } from './verbs/expiry.js'
import { inspect } from './verbs/inspect.js'
import { mismatch } from './verbs/mismatch.js'
import { names } from './verbs/names.js'
import { queue } from './verbs/queue.js'
import { races } from './verbs/races.js'
import { renew } from './verbs/renew.js'
import { steal } from './verbs/steal.js'
import { stealClaim } from './verbs/steal-claim.js'
import { tokens } from './verbs/tokens.js'
import { waiting } from './verbs/waiting.js'
import { withdraw } from './verbs/withdraw.js'

const GROUPS = [
  attempt,
  queue,
  waiting,
  withdraw,
  renew,
  expiry,
  tokens,
  mismatch,
  names,
  inspect,
  steal,
  stealClaim,
  downgrade,
  adopt,
  races,
  close,
  lease,
  openReleases,
  input,
  givingUp,
  contention,
  cohort,
  loss,
  ghosts,
  kinds,
  following,
  handles,
  fencedHandles,
  atLeast,
  oncePerTick,
  election,
  deadlocks,
  administration,
  traces,
  processes,
  killedKeepers,
]

export const ALL_CASES: readonly Case[] = GROUPS.flatMap(({ cases }) => cases)
