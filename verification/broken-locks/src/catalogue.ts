/** All controls, the ladder first: what a harness must catch, and what a reader can learn from. */
import type { Control } from './control.js'
import { clientClockFence } from './locks/client-clock-fence.js'
import { deadlineFromReply } from './locks/deadline-from-reply.js'
import { getThenDel } from './locks/get-then-del.js'
import { getThenSet } from './locks/get-then-set.js'
import { lyingRelease } from './locks/lying-release.js'
import { noDriftMargin } from './locks/no-drift-margin.js'
import { noFloor } from './locks/no-floor.js'
import { noTombstone } from './locks/no-tombstone.js'
import { noWatchdogNoDeadline } from './locks/no-watchdog-no-deadline.js'
import { noWithdraw } from './locks/no-withdraw.js'
import { perProcessToken } from './locks/per-process-token.js'
import { renewalIgnoresLoss } from './locks/renewal-ignores-loss.js'
import { renewalWithoutOwner } from './locks/renewal-without-owner.js'
import { resentRestartsDeadline } from './locks/resent-restarts-deadline.js'
import { separateFence } from './locks/separate-fence.js'
import { v1Setnx } from './locks/v1-setnx.js'
import { v2SetnxExpire } from './locks/v2-setnx-expire.js'
import { v3PlainDel } from './locks/v3-plain-del.js'
import { v4Owner } from './locks/v4-owner.js'
import { v5Watchdog } from './locks/v5-watchdog.js'
import { v6Reentrant } from './locks/v6-reentrant.js'
import { wallClockDeadline } from './locks/wall-clock-deadline.js'
import { watchdogWithoutDeadline } from './locks/watchdog-without-deadline.js'

export const CONTROLS: readonly Control[] = [
  v1Setnx,
  v2SetnxExpire,
  v3PlainDel,
  v4Owner,
  v5Watchdog,
  v6Reentrant,
  noWatchdogNoDeadline,
  getThenSet,
  getThenDel,
  renewalIgnoresLoss,
  renewalWithoutOwner,
  watchdogWithoutDeadline,
  deadlineFromReply,
  wallClockDeadline,
  noDriftMargin,
  noFloor,
  separateFence,
  clientClockFence,
  perProcessToken,
  lyingRelease,
  noWithdraw,
  noTombstone,
  resentRestartsDeadline,
]
