/** Calls that the server does not answer end at their timeout, in virtual time. */
import { VirtualClock } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { ResilientCaller } from '../../dist/stores/redis/connection/resilient-caller.js'

const TIMEOUT_MS = 5000

function refuse(): never {
  throw new Error('Nothing here opens a connection.')
}

function callerOn(clock: VirtualClock): ResilientCaller {
  const transport = {
    keyPrefix: '',
    isReady: true,
    run: refuse,
    command: refuse,
    watchState: () => () => undefined,
    connect: refuse,
    listen: refuse,
  }
  return new ResilientCaller(transport, TIMEOUT_MS, { clock })
}

test.each([0, 100, 1200, 1249, 3700])(
  'a call %s ms after another one rejects at its own timeout',
  async (laterMs) => {
    const clock = new VirtualClock()
    const caller = callerOn(clock)
    const ends: number[] = []
    const call = (): void => {
      const silent = caller.call(() => new Promise<never>(() => undefined))
      silent.catch(() => ends.push(clock.monotonicMs()))
    }
    await caller.call(() => Promise.resolve('answered'))
    call()
    await clock.advance(laterMs)
    call()
    await clock.advance(3 * TIMEOUT_MS)
    expect(ends).toEqual([TIMEOUT_MS, laterMs + TIMEOUT_MS])
    expect(clock.timers).toBe(0)
  },
)
