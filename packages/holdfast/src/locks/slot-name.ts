/** The names of slots: each is a lock of its own, beside the mutex of its schedule. */
import { LockUsageError } from '../errors.js'
import { checkName } from '../store/names.js'

const MARK = '@tick:'
const SLOT_NAME = /@tick:[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z$/

/**
 * Returns the name of a slot, such as `report@tick:2027-01-31T03:00:00Z`.
 * @throws LockUsageError when it is too long.
 */
export function slotName(lock: string, slotMs: number): string {
  const time = new Date(slotMs).toISOString().replace('.000Z', 'Z')
  return checkName(`${lock}${MARK}${time}`, 'lock name with its slot')
}

/**
 * Returns the name of a user's lock.
 * @throws LockUsageError when it is that of a slot.
 */
export function notOfSlot(lock: string): string {
  if (!lock.endsWith('Z') || !SLOT_NAME.test(lock)) return lock
  throw new LockUsageError(
    `Names that end with "${MARK}" and a time belong to oncePerTick, so "${lock}" cannot be used. Choose another name.`,
    { lock },
  )
}
