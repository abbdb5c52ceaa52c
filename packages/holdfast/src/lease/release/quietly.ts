/** Releases whose failure goes to the events. */
import type { ClaimName, Runtime } from '../runtime/runtime.js'
import type { ReleaseOutcome } from './release-until-answered.js'

/**
 * Releases for a caller whose own outcome matters more: a failure goes to the events. Returns no
 * promise where none is needed.
 */
export function quietly(
  runtime: Runtime,
  claim: ClaimName,
  release: () => ReleaseOutcome,
): Promise<unknown> | undefined {
  const report = (error: unknown): void => runtime.report(claim, 'release', error)
  try {
    const outcome = release()
    return typeof outcome === 'string' ? undefined : outcome.catch(report)
  } catch (error) {
    report(error)
    return undefined
  }
}
