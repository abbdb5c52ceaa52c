/** What a holder can add to its owner info in `inspect`. */
import { LockUsageError } from '../../errors.js'
import type { Owner, ProcessGroup } from '../../store/contract.js'
import { describe } from '../../options/describe.js'
import { checkKeys, type KnownKeys } from '../../options/known-keys.js'
import { checkLabel } from '../../options/lock-options.js'
import type { Grant } from '../grant/grant.js'

/** What a holder adds to the owner that `inspect` shows. */
export interface LeaseNote {
  /** Replaces the label of the client for this lease. At most 1 000 characters. */
  readonly label?: string | undefined
  /** The process group of a child that works under the lease. */
  readonly group?: ProcessGroup | undefined
}

const NOTE_KEYS: KnownKeys<LeaseNote> = { label: 1, group: 1 }
const GROUP_KEYS: KnownKeys<ProcessGroup> = { pgid: 1, startTime: 1 }

/** A lease, as far as a note needs it. */
interface Notable {
  readonly grant: Grant
  assertNotOver(): void
  renew(): Promise<void>
}

/**
 * Adds the note to what `inspect` shows, and waits until the store has it.
 * @throws LockUsageError when it makes no sense. Throws otherwise as `renew` does.
 */
export async function annotate(lease: Notable, note: LeaseNote): Promise<void> {
  const { grant } = lease
  lease.assertNotOver()
  grant.describeAs({ ...grant.claim.owner, ...checkNote(note) })
  await lease.renew()
}

/** Returns the fields of the note. It cannot replace the rest of the owner. */
function checkNote(note: LeaseNote): Pick<Owner, 'label' | 'group'> {
  checkKeys('annotate', note, NOTE_KEYS)
  const { label, group } = note
  return {
    ...(label === undefined ? {} : { label: checkLabel(label) }),
    ...(group === undefined ? {} : { group: checkGroup(group) }),
  }
}

/** A takeover waits until the group is gone, so the group must be one that can be looked up. */
function checkGroup(group: ProcessGroup): ProcessGroup {
  checkKeys('the group of annotate', group, GROUP_KEYS)
  const { pgid, startTime } = group
  if (!Number.isSafeInteger(pgid) || pgid < 1) {
    throw new LockUsageError(
      `pgid of a group must be the id of a process group, not ${describe(pgid)}.`,
    )
  }
  if (typeof startTime !== 'string') {
    throw new LockUsageError(`startTime of a group must be a string, not ${describe(startTime)}.`)
  }
  return { pgid, startTime }
}
