/** `election.observe`: the leaders of an election, as the store sees them. */
import { isRetryable } from '../lease/release/release-until-answered.js'
import type { Runtime } from '../lease/runtime/runtime.js'
import { CallerWait } from '../lease/wait/caller-wait.js'
import type { HolderInfo } from '../store/contract.js'
import { withJson } from '../store/with-json.js'

/** Who leads; without a leader only `leader: undefined`. */
export type Leadership =
  | { readonly leader: HolderInfo; readonly token: bigint | undefined }
  | { readonly leader: undefined; readonly token?: undefined }

/** How long to wait between two looks, in milliseconds: evenly between these. */
const LOOK_AGAIN_MS = [500, 1_000] as const

/** Yields the present leader, and each one after a change. A short leadership may go unseen. */
export async function* observeLeaders(
  runtime: Runtime,
  lock: string,
  holders: () => Promise<readonly HolderInfo[]>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Leadership, never, undefined> {
  let seen: string | undefined | null = null
  for (;;) {
    signal?.throwIfAborted()
    runtime.assertOpen(lock)
    try {
      const [leader] = await holders()
      if (leader?.claimId !== seen) {
        seen = leader?.claimId
        yield leader ? withJson({ leader, token: leader.token }) : { leader: undefined }
      }
    } catch (error) {
      // The store is away, so the leader is unknown.
      if (!isRetryable(error)) throw error
    }
    await pause(runtime, lock, signal)
  }
}

/** Waits a while. Rejects with the reason of the signal, and when the client closes. */
async function pause(
  runtime: Runtime,
  lock: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  signal?.throwIfAborted()
  const limits = { waitMs: Infinity, outageMs: Infinity, signal }
  const wait = new CallerWait<void>(runtime, lock, runtime.clock.monotonicMs(), limits)
  const timer = runtime.clock.timer(runtime.jitter(...LOOK_AGAIN_MS), () => wait.serve())
  wait.onGiveUp = () => timer.cancel()
  await wait.promise
}
