/** Which claims a plain statement may release, since it leaves no tombstone. */
import { VirtualClock } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { PlainClaims } from '../../dist/stores/mysql/verbs/plain-claims.js'

const CLAIM = { lock: 'stock', id: 'a', ttlMs: 1000 }

function claimsOn(clock: VirtualClock): PlainClaims {
  const claims = new PlainClaims(clock)
  claims.noteLock('stock', true)
  return claims
}

function granted(clock = new VirtualClock()): PlainClaims {
  const claims = claimsOn(clock)
  claims.noteAttempt(CLAIM)
  claims.noteGrant(CLAIM)
  return claims
}

describe('a plain attempt', () => {
  test('is for a lock that the last claim found free', () => {
    const claims = new PlainClaims(new VirtualClock())
    expect(claims.isLikelyGranted(CLAIM)).toBe(false)
    claims.noteLock('stock', true)
    expect(claims.isLikelyGranted(CLAIM)).toBe(true)
    claims.noteLock('stock', false)
    expect(claims.isLikelyGranted(CLAIM)).toBe(false)
  })

  test('is the first one of its claim, also when that one was not answered', async () => {
    const clock = new VirtualClock()
    const claims = claimsOn(clock)
    claims.noteAttempt(CLAIM)
    expect(claims.isLikelyGranted(CLAIM)).toBe(false)
    await clock.advance(3 * CLAIM.ttlMs - 1)
    expect(claims.isLikelyGranted(CLAIM)).toBe(false)
    await clock.advance(1)
    expect(claims.isLikelyGranted(CLAIM)).toBe(true)
    expect(granted().isLikelyGranted(CLAIM)).toBe(false)
  })
})

describe('a plain release', () => {
  test('is for a claim whose one attempt was answered, and is sent once', () => {
    const claims = granted()
    expect(claims.isGranted(CLAIM)).toBe(true)
    claims.takeGrant(CLAIM)
    expect(claims.isGranted(CLAIM)).toBe(false)
  })

  test('is not for an attempt without an answer', () => {
    const claims = claimsOn(new VirtualClock())
    claims.noteAttempt(CLAIM)
    expect(claims.isGranted(CLAIM)).toBe(false)
  })

  test('is not for a claim with two attempts on their way', () => {
    const claims = claimsOn(new VirtualClock())
    claims.noteAttempt(CLAIM)
    claims.noteAttempt(CLAIM)
    claims.noteGrant(CLAIM)
    expect(claims.isGranted(CLAIM)).toBe(false)
  })

  test('is not for a claim with an attempt after its grant', () => {
    const claims = granted()
    claims.noteAttempt(CLAIM)
    claims.noteGrant(CLAIM)
    expect(claims.isGranted(CLAIM)).toBe(false)
  })

  test('is not for a lock that another claim found busy', () => {
    const claims = granted()
    claims.noteLock('stock', false)
    expect(claims.isGranted(CLAIM)).toBe(false)
  })

  test('is not for a claim of another lock with the same id, nor for the first one then', () => {
    const claims = granted()
    const other = { ...CLAIM, lock: 'other' }
    claims.noteLock('other', true)
    expect(claims.isGranted(other)).toBe(false)
    claims.noteAttempt(other)
    claims.noteGrant(other)
    expect([CLAIM, other].map((claim) => claims.isGranted(claim))).toEqual([false, false])
  })
})

test('a released claim is known for its TTL, on its own lock', async () => {
  const clock = new VirtualClock()
  const claims = granted(clock)
  expect(claims.isReleased(CLAIM)).toBe(false)
  claims.noteRelease(CLAIM)
  expect(claims.isReleased(CLAIM)).toBe(true)
  expect(claims.isReleased({ ...CLAIM, lock: 'other' })).toBe(false)
  await clock.advance(CLAIM.ttlMs)
  expect(claims.isReleased(CLAIM)).toBe(false)
})

test('an attempt after a release that has left is refused, also before the answer', () => {
  const claims = granted()
  expect(claims.isReleasing(CLAIM)).toBe(false)
  claims.takeGrant(CLAIM)
  expect(claims.isReleasing(CLAIM)).toBe(true)
  expect(claims.isReleasing({ ...CLAIM, lock: 'other' })).toBe(false)
  expect(claims.isReleased(CLAIM)).toBe(false)
  claims.noteTombstone(CLAIM)
  expect(claims.isReleasing(CLAIM)).toBe(false)
})

function many(count: number): readonly (typeof CLAIM)[] {
  return Array.from({ length: count }, (_, index) => ({ ...CLAIM, id: String(index) }))
}

test('the oldest released claims are forgotten', () => {
  const claims = claimsOn(new VirtualClock())
  const all = many(1001)
  for (const claim of all) claims.noteRelease(claim)
  expect(all.slice(0, 2).map((claim) => claims.isReleased(claim))).toEqual([false, true])
})

test('the oldest locks are forgotten', () => {
  const claims = claimsOn(new VirtualClock())
  for (let count = 0; count < 10_000; count += 1) claims.noteLock(`lock ${count}`, true)
  expect(claims.isLikelyGranted(CLAIM)).toBe(false)
  expect(claims.isLikelyGranted({ ...CLAIM, lock: 'lock 0' })).toBe(true)
})

test('while a forgotten claim may have an attempt on its way, no attempt is plain', async () => {
  const clock = new VirtualClock()
  const claims = claimsOn(clock)
  for (const claim of many(10_001)) claims.noteAttempt(claim)
  const fresh = { ...CLAIM, id: 'fresh' }
  expect(claims.isLikelyGranted(fresh)).toBe(false)
  claims.noteAttempt(fresh)
  claims.noteGrant(fresh)
  expect(claims.isGranted(fresh)).toBe(false)
  await clock.advance(3 * CLAIM.ttlMs)
  expect(claims.isLikelyGranted({ ...CLAIM, id: 'later' })).toBe(true)
})

test('a forgotten claim that was granted keeps no other from a plain attempt', () => {
  const claims = claimsOn(new VirtualClock())
  for (const claim of many(10_001)) {
    claims.noteAttempt(claim)
    claims.noteGrant(claim)
  }
  expect(claims.isLikelyGranted({ ...CLAIM, id: 'fresh' })).toBe(true)
})
