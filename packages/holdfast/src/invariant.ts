/** Checks of what Holdfast promises itself. They are always on, and cheap. */
import { InternalLockError } from './errors.js'

/**
 * Throws unless `holds`. A failure is a defect of Holdfast, never of its caller.
 * @param rule what must always be true, as a sentence
 * @throws InternalLockError when the rule is broken.
 */
export function invariant(holds: boolean, rule: string, lock?: string): asserts holds {
  if (!holds) throw new InternalLockError(rule, lock === undefined ? {} : { lock })
}
