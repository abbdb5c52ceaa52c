import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LeaseWatch, safetyMs, type OnLost } from '../../../dist/cli/supervise/lease-watch.js'

/** A lease that the test renews, doubts and loses. Time is vitest's. */
class ScriptedLease {
  endsAtMs: number
  inDoubt = false
  readonly controller = new AbortController()
  renewals = 0

  constructor(readonly ttlMs: number) {
    this.endsAtMs = performance.now() + ttlMs
  }

  get signal(): AbortSignal {
    return this.controller.signal
  }

  get remainingMs(): number {
    return this.inDoubt || this.signal.aborted ? 0 : Math.max(0, this.endsAtMs - performance.now())
  }

  /** How long the store takes to answer. */
  answerMs = 0

  async renew(): Promise<void> {
    this.renewals += 1
    if (this.answerMs === Infinity) return new Promise(() => {})
    if (this.answerMs > 0) await new Promise((resolve) => setTimeout(resolve, this.answerMs))
    if (this.signal.aborted || performance.now() >= this.endsAtMs) throw new Error('lost')
    this.inDoubt = false
    this.endsAtMs = performance.now() + this.ttlMs
    this.onRenewal()
  }

  onRenewal: () => void = () => {}
}

/** Time passes, and no timer fires. */
function stopFor(ms: number): void {
  const { now } = performance
  vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + ms)
}

interface Call {
  readonly atMs: number
  readonly what: string
}

function watched(options: { ttlMs?: number; killAfterMs?: number; onLost?: OnLost } = {}) {
  const { ttlMs = 30_000, killAfterMs = 5_000, onLost = 'term' } = options
  const lease = new ScriptedLease(ttlMs)
  const startMs = performance.now()
  const calls: Call[] = []
  const guarded: number[] = []
  const call = (what: string): void => void calls.push({ atMs: performance.now() - startMs, what })
  const watch = new LeaseWatch({
    lease,
    onRenewed: (listener) => {
      lease.onRenewal = listener
      return () => (lease.onRenewal = () => {})
    },
    ttlMs,
    killAfterMs,
    onLost,
    end: (reason, graceMs) => call(`${reason} ${Math.round(graceMs)}`),
    guardFor: (ms) => void guarded.push(performance.now() - startMs + ms),
    warn: (sure) => call(sure ? 'warn: lost' : 'warn: in doubt'),
  })
  return { lease, watch, calls, guarded }
}

describe('the lease watch', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
  })

  it('keeps silent while renewals succeed', async () => {
    const { lease, calls } = watched()
    for (let i = 0; i < 20; i++) {
      await vi.advanceTimersByTimeAsync(10_000)
      await lease.renew()
    }
    expect(calls).toEqual([])
  })

  it('ends the command so early that SIGKILL falls before the lease ends', async () => {
    const { calls } = watched()
    await vi.advanceTimersByTimeAsync(30_000)
    const [warned, ended] = calls
    expect(warned?.what).toBe('warn: in doubt')
    expect(ended?.what).toBe('lost 5000')
    expect((ended?.atMs ?? Infinity) + 5_000).toBeLessThanOrEqual(30_000 - safetyMs(30_000, 5_000))
    expect(calls).toHaveLength(2)
  })

  it('with kill, ends it right before the lease ends', async () => {
    const { calls } = watched({ onLost: 'kill' })
    await vi.advanceTimersByTimeAsync(29_000)
    expect(calls).toEqual([])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(calls.map(({ what }) => what)).toEqual(['warn: in doubt', 'lost 0'])
    expect(calls[1]?.atMs).toBeLessThan(30_000)
  })

  it('with warn, only warns, and only of the loss itself', async () => {
    const { lease, calls, guarded } = watched({ onLost: 'warn' })
    await vi.advanceTimersByTimeAsync(29_999)
    expect(calls).toEqual([])
    lease.controller.abort()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(calls.map(({ what }) => what)).toEqual(['warn: lost'])
    expect(guarded).toEqual([])
  })

  it('after a steal leaves --kill-after for cleaning up', async () => {
    const { lease, calls } = watched()
    await vi.advanceTimersByTimeAsync(24_000)
    lease.controller.abort()
    expect(calls.map(({ what }) => what)).toEqual(['warn: lost', 'lost 5000'])
  })

  it('kills at once when the lease is found to be over', async () => {
    const { watch, calls } = watched()
    // As after a stop: time has passed and no timer has run.
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 40_000)
    expect(await watch.resume()).toBe(false)
    vi.restoreAllMocks()
    expect(calls).toHaveLength(2)
    expect(Number(calls[1]?.what.split(' ')[1])).toBeLessThanOrEqual(0)
  })

  it('asks the store when the clocks disagree, and continues when the lease lives', async () => {
    const { lease, calls } = watched()
    lease.inDoubt = true
    await vi.advanceTimersByTimeAsync(6_000)
    expect(lease.renewals).toBe(1)
    expect(calls).toEqual([])
    await vi.advanceTimersByTimeAsync(10_000)
    expect(calls).toEqual([])
  })

  it('does not wait for a store that will not settle the doubt', async () => {
    const { lease, calls } = watched()
    lease.inDoubt = true
    lease.answerMs = Infinity
    await vi.advanceTimersByTimeAsync(6_000)
    expect(calls.map(({ what }) => what)).toEqual(['warn: in doubt', 'lost 5000'])
  })

  it('keeps the guardian ahead of the end of the lease, renewal by renewal', async () => {
    const { lease, guarded } = watched()
    for (let i = 1; i <= 3; i++) {
      await vi.advanceTimersByTimeAsync(10_000)
      await lease.renew()
    }
    await vi.advanceTimersByTimeAsync(5_000)
    expect(guarded.length).toBeGreaterThanOrEqual(4)
    const ends = 60_000
    expect(guarded.at(-1)).toBeLessThan(ends)
    expect(guarded.at(-1)).toBeGreaterThan(ends - 1_000)
  })

  it('reports a renewal to the guardian in the same tick', async () => {
    const { lease, guarded } = watched()
    await vi.advanceTimersByTimeAsync(10_001)
    const before = guarded.length
    await lease.renew()
    expect(guarded).toHaveLength(before + 1)
    expect(guarded.at(-1)).toBeGreaterThan(39_000)
  })

  it.each([
    [10, 'a store that answers', true],
    [Infinity, 'a store that does not answer', false],
  ])('after a stop that the lease survived, asks once: %s ms, %s', async (answerMs, _, goesOn) => {
    const { lease, watch, calls } = watched({ ttlMs: 6_000, killAfterMs: 2_000 })
    await vi.advanceTimersByTimeAsync(350)
    stopFor(4_300)
    lease.answerMs = answerMs
    const resumed = watch.resume()
    await vi.advanceTimersByTimeAsync(600)
    expect(lease.renewals).toBe(1)
    expect(await resumed).toBe(goesOn)
    expect(calls.map(({ what }) => what.replace(/\d+/, 'N'))).toEqual(
      goesOn ? [] : ['warn: in doubt', 'lost N'],
    )
  })

  it('after a stop that leaves no time to ask, kills at once', async () => {
    const { lease, watch, calls } = watched({ ttlMs: 6_000, killAfterMs: 2_000 })
    await vi.advanceTimersByTimeAsync(350)
    stopFor(5_600)
    expect(await watch.resume()).toBe(false)
    expect(lease.renewals).toBe(0)
    expect(calls).toHaveLength(2)
  })

  it('says nothing after it was closed', async () => {
    const { lease, watch, calls } = watched()
    watch.close()
    lease.controller.abort()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(calls).toEqual([])
  })

  it.each([
    [30_000, 5_000],
    [1_000, 333],
    [1_000, 666],
    [3_600_000, 0],
  ])('leaves room for a healthy renewal: TTL %d, kill after %d', (ttlMs, killAfterMs) => {
    const safety = safetyMs(ttlMs, killAfterMs)
    expect(safety).toBeGreaterThanOrEqual(0)
    expect(killAfterMs + safety).toBeLessThan((ttlMs * 2) / 3)
  })
})
