/** Asking Redis and waiting, with a limit and in the time of the injected clock. */
import type { Clock } from 'holdfast'
import type { ControlSettings, ControlWorld } from './contract.js'
import { isReplyError } from './redis-connection.js'

/** One moment, by both clocks of the machine. */
export interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

export type RequestOutcome<T> =
  | {
      readonly outcome: 'answered'
      readonly value: T
      readonly sent: Moment
      readonly replied: Moment
    }
  /** Redis answered with an error. */
  | { readonly outcome: 'refused'; readonly error: unknown; readonly sent: Moment }
  /** It may have been carried out, or may still be, even later. */
  | { readonly outcome: 'in-doubt'; readonly sent: Moment }

/** The outcome of a request is unknown. */
export class InDoubtError extends Error {
  override readonly name = 'InDoubtError'
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() }
}

/**
 * Sends and waits for the answer; never rejects. The request is in doubt if no answer came in time,
 * if the connection broke, or if the signal was aborted meanwhile.
 */
export function ask<T>(
  { clock }: ControlWorld,
  { requestTimeoutMs }: ControlSettings,
  send: () => Promise<T>,
  signal?: AbortSignal,
): Promise<RequestOutcome<T>> {
  const sent = momentOf(clock)
  return new Promise((resolve) => {
    const end = (asked: RequestOutcome<T>): void => {
      timer.cancel()
      signal?.removeEventListener('abort', giveUp)
      resolve(asked)
    }
    const giveUp = (): void => end({ outcome: 'in-doubt', sent })
    const timer = clock.timer(requestTimeoutMs, giveUp)
    signal?.addEventListener('abort', giveUp, { once: true })
    send().then(
      (value) => end({ outcome: 'answered', value, sent, replied: momentOf(clock) }),
      (error: unknown) =>
        end({ outcome: isReplyError(error) ? 'refused' : 'in-doubt', error, sent }),
    )
  })
}

/** Resolves after `ms`, or when the signal is aborted. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel()
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = clock.timer(ms, end)
    signal?.addEventListener('abort', end, { once: true })
    if (signal?.aborted === true) end()
  })
}

/** Between half of it and all of it, so that waiters do not all come back at once. */
export function jittered(ms: number, { random }: ControlWorld): number {
  return ms * (0.5 + random.next() / 2)
}
