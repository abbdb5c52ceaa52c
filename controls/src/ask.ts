/** Asking Redis and waiting, with a limit and in the time of the injected clock. */
import type { Clock } from 'holdfast'
import { isReplyError, type ControlSettings, type ControlWorld } from './port.js'

/** One moment, by both clocks of the machine. */
export interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

export type Asked<T> =
  | { readonly clear: true; readonly value: T; readonly sent: Moment; readonly replied: Moment }
  | { readonly clear: false; readonly sent: Moment }

/** Nobody knows what became of a request. */
export class UnclearError extends Error {
  override readonly name = 'UnclearError'
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() }
}

/**
 * Sends and waits for the answer. The outcome is unclear if none came in time, if the connection broke, or if the
 * signal was aborted meanwhile: the request may still be carried out, even later.
 * @throws ReplyError
 */
export function ask<T>(
  { clock }: ControlWorld,
  { timeoutMs }: ControlSettings,
  send: () => Promise<T>,
  signal?: AbortSignal,
): Promise<Asked<T>> {
  const sent = momentOf(clock)
  return new Promise((resolve, reject) => {
    const end = (): void => {
      timer.cancel()
      signal?.removeEventListener('abort', giveUp)
    }
    const giveUp = (): void => {
      end()
      resolve({ clear: false, sent })
    }
    const timer = clock.timer(timeoutMs, giveUp)
    signal?.addEventListener('abort', giveUp, { once: true })
    send().then(
      (value) => {
        end()
        resolve({ clear: true, value, sent, replied: momentOf(clock) })
      },
      (error: unknown) => {
        end()
        if (isReplyError(error)) reject(error)
        else resolve({ clear: false, sent })
      },
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

/** Between half of it and all of it, so that those who wait do not all come back at once. */
export function jittered(ms: number, { random }: ControlWorld): number {
  return ms * (0.5 + random.next() / 2)
}
