/** Finding the oldest key costs the same however many keys have left. */
import { expect, test } from 'vitest'
import { OldestKeys } from '../../dist/collections/oldest-keys.js'

/** Keys of a set, and how often an iteration over them began. */
function keysOf(...values: readonly string[]) {
  const set = new Set(values)
  const begun = { count: 0 }
  const oldest = new OldestKeys({
    keys() {
      begun.count += 1
      return set.keys()
    },
  })
  return { set, oldest, begun }
}

test('the oldest keys leave in the order in which they came, over one iteration', () => {
  const { set, oldest, begun } = keysOf('a', 'b')
  const left: (string | undefined)[] = []
  for (let added = 0; added < 10_000; added += 1) {
    set.add(`key ${added}`)
    const first = oldest.next()
    left.push(first)
    set.delete(first as string)
  }
  expect(left.slice(0, 4)).toEqual(['a', 'b', 'key 0', 'key 1'])
  expect(left.at(-1)).toBe('key 9997')
  expect(set.size).toBe(2)
  expect(begun.count).toBe(1)
})

test('a key that was set again is no longer the oldest', () => {
  const { set, oldest } = keysOf('a', 'b')
  set.delete('a')
  set.add('a')
  expect(oldest.next()).toBe('b')
})

test('after the newest key the oldest one follows, and an empty collection has none', () => {
  const { set, oldest } = keysOf('a')
  expect([oldest.next(), oldest.next()]).toEqual(['a', 'a'])
  set.clear()
  expect(oldest.next()).toBeUndefined()
})
