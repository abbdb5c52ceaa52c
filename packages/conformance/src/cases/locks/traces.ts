/** The traces of calls: `holdfast:acquire`, `run`, `renew` and `release`. */
import assert from 'node:assert/strict'
import { tracingChannel } from 'node:diagnostics_channel'
import { onLockEvent, type Locks, type LockTrace, type LockTraceName } from 'holdfast'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { expectError, outcomeOf } from '../../expect.js'
import { adopt, tokenBlocks } from '../../needs.js'

export const traces = new Group('traces')

/** The traces of some clients that have ended. */
class TraceLog {
  readonly #ended: LockTrace[] = []
  readonly #stop: () => void

  constructor(name: LockTraceName, clients: readonly Locks[]) {
    const ids = clients.map(({ clientId }) => clientId)
    const { asyncEnd } = tracingChannel(`holdfast:${name}`)
    const note = (message: unknown): void => {
      const trace = message as LockTrace
      if (ids.includes(trace.clientId)) this.#ended.push(trace)
    }
    asyncEnd.subscribe(note)
    this.#stop = () => {
      asyncEnd.unsubscribe(note)
    }
  }

  /** Stops, and returns the traces in the order of their ends. */
  end(): readonly LockTrace[] {
    this.#stop()
    return this.#ended
  }

  outcomes(): readonly (string | undefined)[] {
    return this.end().map(({ outcome }) => outcome)
  }
}

traces.test(
  'each call to acquire has one trace, with the outcome that the caller got',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks()]
    const log = new TraceLog('acquire', [one, two])
    const mutex = two.mutex(context.name())
    const lease = await context.soon(one.mutex(context.name()).acquire())
    assert.equal(await context.soon(mutex.tryAcquire()), undefined)
    await outcomeOf(context.soon(mutex.acquire({ waitMs: 0 })))
    await outcomeOf(context.soon(mutex.acquire({ waitMs: 200 })))
    assert.equal(await context.soon(mutex.tryAcquire({ waitMs: 200 })), undefined)
    const stop = new AbortController()
    const waiting = outcomeOf(mutex.acquire({ waitMs: 20_000, signal: stop.signal }))
    stop.abort()
    await context.soon(waiting)
    await context.soon(lease.release())
    const nested = mutex.run(() => outcomeOf(mutex.acquire()))
    await context.soon(nested)
    const expected = ['granted', 'busy', 'busy', 'timeout', 'timeout', 'aborted']
    assert.deepEqual(log.outcomes(), [...expected, 'granted', 'error'])
  },
)

traces.test(
  'a lease that a caller of the process passes on has the outcome handed_off',
  async (context) => {
    const locks = await context.locks()
    const log = new TraceLog('acquire', [locks])
    const handedOff = new Set<bigint | undefined>()
    const stop = onLockEvent('handed-off', ({ clientId, token }) => {
      if (clientId === locks.clientId) handedOff.add(token)
    })
    // A holder that is slow for a moment passes nothing on.
    await context.time.eventually('a hand-off', 10 * context.slackMs, async () => {
      const calls = Array.from({ length: 8 }, () =>
        locks.mutex(context.name()).run(() => undefined),
      )
      await context.soon(Promise.all(calls))
      return handedOff.size > 0
    })
    stop()
    for (const { token, outcome } of log.end())
      assert.equal(outcome, handedOff.has(token) ? 'handed_off' : 'granted')
  },
  { needs: [tokenBlocks] },
)

traces.test(
  'the traces of a run, a renewal and a release name the claim and the token of the lease',
  async (context) => {
    const locks = await context.locks()
    const names = ['acquire', 'run', 'renew', 'release'] as const
    const logs = names.map((name) => new TraceLog(name, [locks]))
    const seen = await context.soon(runAndRenew(context, locks))
    for (const log of logs) {
      const [trace, ...more] = log.end()
      assert.deepEqual(more, [])
      const { lock, kind, store, claimId, token } = trace ?? assert.fail('no trace')
      const shown = { lock, kind, claimId, token }
      assert.deepEqual(shown, { lock: context.name(), kind: 'mutex', ...seen })
      assert.equal(store, locks.store.name)
    }
    const outcomes = logs.map((log) => log.outcomes()[0])
    assert.deepEqual(outcomes, ['granted', 'completed', 'renewed', 'released'])
  },
)

traces.test(
  'an exported lease ends with an event, and an adopted one begins with a grant',
  async (context) => {
    const locks = await context.locks()
    const log = new TraceLog('acquire', [locks])
    const events: [string, string][] = []
    const stops = (['granted', 'exported', 'released'] as const).map((name) =>
      onLockEvent(name, ({ clientId, claimId }) => {
        if (clientId === locks.clientId) events.push([name, claimId])
      }),
    )
    const mutex = locks.mutex(context.name())
    const lease = await context.soon(mutex.acquire())
    const handle = await context.soon(lease.export())
    const adopted = await context.soon(mutex.adopt(handle))
    await expectError('LOCK_LOST', () => context.soon(mutex.adopt(handle)))
    await context.soon(adopted.release())
    for (const stop of stops) stop()
    assert.deepEqual(log.outcomes(), ['granted', 'granted', 'error'])
    assert.deepEqual(events, [
      ['granted', lease.claimId],
      ['exported', lease.claimId],
      ['granted', adopted.claimId],
      ['released', adopted.claimId],
    ])
  },
  { needs: [adopt] },
)

function runAndRenew(
  context: Context,
  locks: Locks,
): Promise<{ readonly claimId: string; readonly token: bigint }> {
  return locks.mutex(context.name()).run(async (lease) => {
    await lease.renew()
    const { claimId, token } = lease
    return { claimId, token }
  })
}
