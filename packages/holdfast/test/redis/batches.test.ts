/** Which requests of one tick travel together, and in which order. */
import { expect, test } from 'vitest'
import { batchQueue, type BatchRequest, type Verb } from '../../dist/stores/redis/verbs/batches.js'
import { lockOf } from '../../dist/stores/redis/keys.js'
import { NO_TERMS } from '../../dist/stores/redis/wire/terms-encoder.js'

function doAll(waiting: (() => void)[]): void {
  for (const work of waiting.splice(0)) work()
}

function makeBatches() {
  const calls: string[] = []
  const atTickEnd: (() => void)[] = []
  const queue = batchQueue({
    prefix: 'hf',
    oneLockACall: false,
    publishTo: 'PUBLISH channel',
    atTickEnd: (work) => void atTickEnd.push(work),
    send: (_listener, _script, keys, [, first = '']) => {
      const verbs =
        first.length === 1
          ? first
          : [...first.matchAll(/"([arwt])",/g)].map(([, verb]) => verb).join('')
      calls.push(`${verbs} ${keys.map((key) => lockOf('hf', key)).join(' ')}`)
    },
  })
  const add = (verb: Verb, lock: string): void => {
    const request: BatchRequest = {
      verb,
      claim: { lock, id: `${verb}${lock}`, ttlMs: 1000 },
      terms: NO_TERMS,
      done: () => undefined,
    }
    queue.add(request)
  }
  return { calls, add, endTick: () => doAll(atTickEnd) }
}

test('requests of one tick travel together, withdrawals first', () => {
  const { calls, add, endTick } = makeBatches()
  add('a', 'one')
  add('r', 'two')
  add('w', 'three')
  endTick()
  expect(calls).toEqual(['war three one two'])
})

test('attempt for a lock that is released in the same tick travels behind the release', () => {
  const { calls, add, endTick } = makeBatches()
  add('a', 'one')
  add('w', 'one')
  add('r', 'one')
  add('a', 'two')
  endTick()
  expect(calls).toEqual(['wara one one one two'])
})

test('a full batch leaves at once, and the rest at the end of the tick', () => {
  const { calls, add, endTick } = makeBatches()
  for (let index = 0; index < 33; index += 1) add('a', `k${index}`)
  expect(calls).toHaveLength(1)
  endTick()
  expect(calls.slice(1)).toEqual(['a k32'])
})
