/** Fencing tokens, on short histories with a known verdict. */
import { describe, expect, test } from 'vitest'
import { broken } from './support/story.js'

describe('tokens', () => {
  test('may come in any order to requests at the same time', () => {
    expect(
      broken(`
        1 a acquire invoke capacity=2
        2 b acquire invoke capacity=2
        3 a acquire ok token=9 capacity=2
        4 a release invoke
        5 b acquire ok token=8 capacity=2`),
    ).toEqual([])
  })

  test('follow the order of holds that exclude each other', () => {
    expect(
      broken(`
        1 a acquire invoke
        2 b acquire invoke
        3 a acquire ok token=9
        4 a release invoke
        5 b acquire ok token=8`),
    ).toEqual(['grant-order'])
  })

  test('are not broken by an overlap, nor by a grant that ended before it was reported', () => {
    const asked = '1 a acquire invoke\n1 b acquire invoke'
    expect(broken(`${asked}\n3 a acquire ok token=9\n5 b acquire ok token=8`)).toEqual([
      'exclusion',
    ])
    const late = '5 b acquire ok token=8 deadline_ns=4'
    expect(broken(`${asked}\n3 a acquire ok token=9\n4 a release invoke\n${late}`)).toEqual([])
  })

  test('are ignored where a store has none', () => {
    expect(broken('1 a acquire ok\n2 a release invoke\n3 b acquire ok')).toEqual([])
  })

  test('are kept apart lock by lock', () => {
    expect(broken('1 a acquire ok token=5\n2 b acquire ok token=5 key=other')).toEqual([])
  })

  test('are smaller for a grant that was reported before another was requested', () => {
    expect(
      broken(`
        1 a acquire invoke
        3 a acquire ok token=9
        4 a release invoke
        5 b acquire invoke
        6 b acquire ok token=8`),
    ).toEqual(['token-order'])
  })

  test('are granted once', () => {
    expect(
      broken(`
        1 a acquire invoke
        2 b acquire invoke
        3 a acquire ok token=9
        4 a release invoke
        5 b acquire ok token=9`),
    ).toEqual(['token-unique'])
  })
})
