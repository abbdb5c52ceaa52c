/** The fenced counter, on short histories. */
import { describe, expect, test } from 'vitest'
import { broken } from './support/story.js'

const counter = (text: string): string[] => broken(text, { counter: true })

const first = '1 a write invoke token=5\n2 a write ok value=1'

describe('a fenced store', () => {
  test('accepts growing tokens, and one token again from its owner', () => {
    expect(
      counter(
        `${first}\n3 a write invoke token=5\n4 a write ok value=2\n5 b write invoke token=6\n6 b write ok value=3`,
      ),
    ).toEqual([])
  })

  test('must refuse a token that is smaller than one that it accepted before', () => {
    expect(counter(`${first}\n3 b write invoke token=4\n4 b write ok value=2`)).toEqual(['fence'])
    expect(counter(`${first}\n3 b write invoke token=4\n4 b write fail fence=5`)).toEqual([])
  })

  test('may accept two tokens that are sent at the same time in any order', () => {
    expect(counter(`${first}\n1 b write invoke token=4\n4 b write ok value=2`)).toEqual([])
  })

  test('must refuse an equal token from another owner at any time', () => {
    expect(counter(`${first}\n3 b write invoke token=5\n4 b write ok value=2`)).toEqual(['fence'])
    expect(counter(`${first}\n1 b write invoke token=5\n4 b write ok value=2`)).toEqual(['fence'])
  })

  test('breaks the fence when its own answer names a larger token', () => {
    expect(counter('1 a write invoke token=5\n2 a write ok value=1 fence=6')).toEqual(['fence'])
    expect(counter('1 a write invoke token=5\n2 a write ok value=1 fence=5')).toEqual([])
  })
})

describe('a locked counter', () => {
  test('loses an increment when two writes set the same value', () => {
    expect(counter(`${first}\n1 b write invoke\n3 b write ok value=1`)).toEqual(['increments'])
  })

  test('loses an increment when a read or the next write does not see it', () => {
    expect(counter(`${first}\n3 b read invoke\n4 b read ok value=1`)).toEqual([])
    expect(counter(`${first}\n3 b read invoke\n4 b read ok value=0`)).toEqual(['increments'])
    expect(counter(`${first}\n2 b read invoke\n4 b read ok value=0`)).toEqual([])
    const second = `${first}\n3 b write invoke\n4 b write ok value=2`
    expect(counter(`${second}\n5 c write invoke\n6 c write ok value=2`)).toEqual([
      'increments',
      'increments',
    ])
  })

  test('breaks the promise when it counts an increment that was not requested', () => {
    expect(counter(`${first}\n3 b read invoke\n4 b read ok value=2`)).toEqual(['increments'])
    expect(counter('1 a write invoke\n2 a write ok value=2')).toEqual(['increments'])
    expect(
      counter(`${first}\n1 b write invoke\n2 b write fail\n3 c read invoke\n4 c read ok value=2`),
    ).toEqual(['increments'])
  })

  test('may count or miss a write in doubt', () => {
    const inDoubt = [`${first}\n3 b write invoke\n4 b write info`, `${first}\n3 b write invoke`]
    for (const story of inDoubt) {
      for (const value of [1, 2]) {
        expect(counter(`${story}\n5 c read invoke\n6 c read ok value=${value}`)).toEqual([])
      }
      expect(counter(`${story}\n5 c read invoke\n6 c read ok value=3`)).toEqual(['increments'])
    }
    expect(counter(`${first}\n3 b write invoke\n4 b write invoke\n5 b write ok value=3`)).toEqual(
      [],
    )
  })

  test('is checked lock by lock', () => {
    expect(counter(`${first}\n1 b write invoke key=other\n3 b write ok value=1 key=other`)).toEqual(
      [],
    )
  })
})
