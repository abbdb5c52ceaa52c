/** The map for what comes and goes fast, beside the engine's own. */
import { expect, test } from 'vitest'
import { LinkedMap } from '../../src/collections/linked-map.js'

test('does what a Map does, also while it grows and when names meet in one chain', () => {
  const [linked, plain] = [new LinkedMap<number>(), new Map<string, number>()]
  let state = 1
  for (let step = 0; step < 20_000; step += 1) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    const name = `client.${(state >>> 8) % 700}`
    if (plain.has(name)) {
      expect(linked.get(name)).toBe(plain.get(name))
      if (state % 3 === 0) expect(linked.delete(name)).toBe(plain.delete(name))
    } else {
      expect(linked.get(name)).toBeUndefined()
      expect(linked.delete(name)).toBe(false)
      linked.add(name, step)
      plain.set(name, step)
    }
    expect(linked.size).toBe(plain.size)
  }
  expect(linked.values().sort()).toEqual([...plain.values()].sort())
})

test('names that end alike are told apart', () => {
  const map = new LinkedMap<string>()
  for (const name of ['', 'a', 'one-12345678', 'two-12345678'])
    map.add(name, `the value of ${name}`)
  for (const name of ['', 'a', 'one-12345678', 'two-12345678'])
    expect(map.get(name)).toBe(`the value of ${name}`)
  expect(map.delete('one-12345678')).toBe(true)
  expect(map.get('one-12345678')).toBeUndefined()
  expect(map.get('two-12345678')).toBe('the value of two-12345678')
  map.clear()
  expect(map.size).toBe(0)
  expect(map.get('a')).toBeUndefined()
})
