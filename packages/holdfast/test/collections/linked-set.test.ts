/** A set keeps the order of its members when any of them leaves. */
import { expect, test } from 'vitest'
import { LinkedSet } from '../../dist/collections/linked-set.js'

function setOf(...values: readonly string[]): LinkedSet<string> {
  const set = new LinkedSet<string>()
  for (const value of values) set.add(value)
  return set
}

test('a member that leaves the middle keeps the order of the others', () => {
  const set = setOf('a')
  const middle = set.add('b')
  set.add('c')
  expect(set.delete(middle)).toBe(true)
  expect(set.values()).toEqual(['a', 'c'])
  expect(set.size).toBe(2)
})

test('a member that has left cannot leave again', () => {
  const set = setOf('a')
  const place = set.add('b')
  set.delete(place)
  expect(set.delete(place)).toBe(false)
  expect(set.values()).toEqual(['a'])
  expect(set.size).toBe(1)
})

test('shift removes the oldest member until the set is empty', () => {
  const set = setOf('a', 'b')
  expect([set.shift(), set.shift(), set.shift()]).toEqual(['a', 'b', undefined])
  expect(set.size).toBe(0)
  expect(set.first).toBeUndefined()
  set.add('c')
  expect(set.values()).toEqual(['c'])
})

test('first is the oldest member that is left', () => {
  const set = new LinkedSet<string>()
  const oldest = set.add('a')
  set.add('b')
  expect(set.first).toBe(oldest)
  set.delete(oldest)
  expect(set.first?.value).toBe('b')
})
