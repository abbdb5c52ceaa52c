/** Collects the traces of the clients of this process. */
import { channel, tracingChannel } from 'node:diagnostics_channel'
import { channelName, type LockTraceName, type LockTraces } from 'holdfast'
import { onTestFinished } from 'vitest'
import { EVENT_NAMES } from '../../dist/lease/runtime/events.js'

const STEPS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const

/** A message of one channel of a trace. */
export interface TraceStep<N extends LockTraceName = LockTraceName> {
  readonly step: (typeof STEPS)[number]
  readonly trace: LockTraces[N]
}

/** Returns the messages of a trace, as they come until the test ends. */
export function stepsOf<N extends LockTraceName>(name: N): TraceStep<N>[] {
  const seen: TraceStep<N>[] = []
  const channel = tracingChannel(`holdfast:${name}`)
  for (const step of STEPS) {
    const note = (message: unknown): void =>
      void seen.push({ step, trace: message as LockTraces[N] })
    channel[step].subscribe(note)
    onTestFinished(() => channel[step].unsubscribe(note))
  }
  return seen
}

/** Returns the traces that have ended, as they come until the test ends. */
export function tracesOf<N extends LockTraceName>(name: N): LockTraces[N][] {
  const ended: LockTraces[N][] = []
  const note = (message: unknown): void => void ended.push(message as LockTraces[N])
  const { asyncEnd } = tracingChannel(`holdfast:${name}`)
  asyncEnd.subscribe(note)
  onTestFinished(() => asyncEnd.unsubscribe(note))
  return ended
}

/** Returns the channels that have subscribers. */
export function subscribed(): readonly string[] {
  const traces = ['acquire', 'run', 'renew', 'release', 'request']
    .map((name) => `holdfast:${name}`)
    .filter((name) => tracingChannel(name).hasSubscribers)
  const events = EVENT_NAMES.map(channelName).filter((name) => channel(name).hasSubscribers)
  return [...traces, ...events]
}
