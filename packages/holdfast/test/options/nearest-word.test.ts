import { describe, expect, test } from 'vitest'
import { editDistance, nearest } from '../../dist/options/nearest-word.js'

describe('the nearest word', () => {
  test('is counted in edits', () => {
    expect(editDistance('kitten', 'sitting')).toBe(3)
    expect(editDistance('', 'abc')).toBe(3)
  })

  test('is named when it is near, and otherwise none is', () => {
    expect(nearest('inspekt', ['ls', 'inspect'])).toBe('inspect')
    expect(nearest('frobnicate', ['ls', 'run'])).toBeUndefined()
  })
})
