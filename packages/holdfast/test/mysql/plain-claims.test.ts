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
  claims.noteAttempt(CLAIM, true)
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
    claims.noteAttempt(CLAIM, true)
    expect(claims.isLikelyGranted(CLAIM)).toBe(false)
    await clock.advance(3 * CLAIM.ttlMs - 1)
    expect(claims.isLikelyGranted(CLAIM)).toBe(false)
    await clock.advance(1)
    expect(claims.isLikelyGranted(CLAIM)).toBe(true)
    expect(granted().isLikelyGranted(CLAIM)).toBe(false)
  })
})

describe('a plain release', () => {
  test('is for a claim whose one attempt was plain and answered, and is sent once', () => {
    const claims = granted()
    expect(claims.takeGrant(CLAIM)).toBe(true)
    expect(claims.takeGrant(CLAIM)).toBe(false)
  })

  test('is not for an attempt without an answer', () => {
    const claims = claimsOn(new VirtualClock())
    claims.noteAttempt(CLAIM, true)
    expect(claims.takeGrant(CLAIM)).toBe(false)
  })

  test.each([
    ['before the plain one', [false, true], false],
    ['while the plain one is on its way', [true, false], false],
    ['and no other one', [true], true],
  ] as const)('is not for a claim with an attempt to a procedure %s', (_, attempts, isPlain) => {
    const claims = claimsOn(new VirtualClock())
    for (const plain of attempts)
      if (!plain || claims.isLikelyGranted(CLAIM)) claims.noteAttempt(CLAIM, plain)
    claims.noteGrant(CLAIM)
    expect(claims.takeGrant(CLAIM)).toBe(isPlain)
  })

  test('is not for a claim with an attempt to a procedure after its grant', () => {
    const claims = granted()
    claims.noteAttempt(CLAIM, false)
    expect(claims.takeGrant(CLAIM)).toBe(false)
  })

  test('is not for a lock that another claim found busy', () => {
    const claims = granted()
    claims.noteLock('stock', false)
    expect(claims.takeGrant(CLAIM)).toBe(false)
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

test('the oldest claims and locks are forgotten', () => {
  const claims = new PlainClaims(new VirtualClock())
  const many = Array.from({ length: 10_001 }, (_, index) => ({
    lock: `lock ${index}`,
    id: String(index),
    ttlMs: 1000,
  }))
  for (const claim of many) {
    claims.noteLock(claim.lock, true)
    claims.noteAttempt(claim, true)
    claims.noteGrant(claim)
    claims.noteRelease(claim)
  }
  const [first, second] = many
  if (!first || !second) throw new Error('many claims')
  expect([first, second].map((claim) => claims.isReleased(claim))).toEqual([false, true])
  expect([first, second].map((claim) => claims.takeGrant(claim))).toEqual([false, true])
})
