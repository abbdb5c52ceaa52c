/** What of one turn travels together, and what follows a moment later. */
import { expect, test } from 'vitest'
import { Batches, type Item, type Verb } from '../../src/stores/redis/batches.js'
import { NO_TERMS } from '../../src/stores/redis/terms-encoder.js'

function doAll(waiting: (() => void)[]): void {
  for (const work of waiting.splice(0)) work()
}

function makeBatches() {
  const calls: string[] = []
  const [soon, later]: [(() => void)[], (() => void)[]] = [[], []]
  const batches = new Batches({
    oneLockACall: false,
    publish: 'PUBLISH',
    soon: (work) => soon.push(work),
    later: (work) => later.push(work),
    channelOf: () => 'channel',
    run: (keys, [, first = '']) => {
      const verbs =
        first.length === 1
          ? first
          : [...first.matchAll(/"([arwt])",/g)].map(([, verb]) => verb).join('')
      calls.push(`${verbs} ${keys.join(' ')}`)
      return new Promise(() => undefined)
    },
  })
  const add = (verb: Verb, key: string): void => {
    const item: Item = {
      verb,
      key,
      lock: key,
      claimId: `${verb}${key}`,
      shape: NO_TERMS,
      done: () => undefined,
      failed: () => undefined,
    }
    batches.add(item)
  }
  return { calls, add, endTurn: () => doAll(soon), nextTurn: () => doAll(later) }
}

test('all of one turn travels together, withdrawals first', () => {
  const { calls, add, endTurn } = makeBatches()
  add('a', 'one')
  add('r', 'two')
  add('w', 'three')
  endTurn()
  expect(calls).toEqual(['war three one two'])
})

test('who asks anew for what is withdrawn in the same turn asks when the next holder has been told', () => {
  const { calls, add, endTurn, nextTurn } = makeBatches()
  add('w', 'one')
  add('a', 'one')
  add('r', 'one')
  add('a', 'two')
  endTurn()
  expect(calls).toEqual(['wra one one two'])
  nextTurn()
  expect(calls.slice(1)).toEqual(['a one'])
})
