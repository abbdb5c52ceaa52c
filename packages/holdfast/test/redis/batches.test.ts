/** Which requests of one tick travel together, and in which order. */
import { expect, test } from 'vitest'
import { batchQueue, type BatchRequest, type Verb } from '../../dist/stores/redis/verbs/batches.js'
import { lockOf } from '../../dist/stores/redis/keys.js'
import * as scripts from '../../dist/stores/redis/rule/scripts.generated.js'
import { NO_TERMS, TermsEncoder } from '../../dist/stores/redis/wire/terms-encoder.js'
import { makeClaim } from './support/world.js'

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
      const verbs = [...first.matchAll(/"([arwt])",/g)].map(([, verb]) => verb).join('')
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

test('full batches leave at once, and the rest at the end of the tick', () => {
  const { calls, add, endTick } = makeBatches()
  for (let index = 0; index < 145; index += 1) add('a', `k${index}`)
  expect(calls.map((call) => call.split(' ').length - 1)).toEqual([16, 128])
  endTick()
  expect(calls.slice(2)).toEqual(['a k144'])
})

/** What leaves in one tick: the script, the form of its arguments, how many keys and arguments. */
function callsOf(...requests: readonly (readonly [Verb, lock: string, weight?: number])[]) {
  const calls: string[] = []
  const encoder = new TermsEncoder()
  const work: (() => void)[] = []
  const queue = batchQueue({
    prefix: 'hf',
    oneLockACall: false,
    publishTo: 'PUBLISH channel',
    atTickEnd: (end) => void work.push(end),
    send: (_listener, script, keys, args) => {
      const [name] = Object.entries(scripts).find(([, value]) => value === script) ?? []
      calls.push(`${name} ${args[0]} ${keys.length} ${args.length}`)
    },
  })
  const { owner } = makeClaim('any')
  for (const [verb, lock, weight = 3] of requests) {
    const claim = { ...makeClaim(lock), owner, kind: 'semaphore' as const, capacity: 3, weight }
    const terms =
      verb === 'a'
        ? encoder.attempt(claim, true, 1)
        : verb === 'r'
          ? encoder.renewal(claim)
          : encoder.withdrawal(claim.ttlMs, false)
    queue.add({ verb, claim, terms, done: () => undefined })
  }
  doAll(work)
  return calls
}

/** A TTL of 30 s, and one token or one withdrawal. */
const ATTEMPTS = '        30720001'

test.each([
  [[['a', 'one']], `applyBatch ${ATTEMPTS} PUBLISH channel 1 3`],
  [
    [
      ['a', 'one'],
      ['a', 'two'],
    ],
    `applyBatch ${ATTEMPTS} PUBLISH channel 2 4`,
  ],
  [[['w', 'one']], 'applyBatch w30000 PUBLISH 1 2'],
  [
    [
      ['w', 'one'],
      ['w', 'two'],
    ],
    'applyBatch w30000 PUBLISH 2 3',
  ],
  [
    [
      ['a', 'one'],
      ['w', 'two'],
    ],
    `applyBatch m${ATTEMPTS}${ATTEMPTS} PUBLISH channel 2 4`,
  ],
  [
    [
      ['a', 'one'],
      ['a', 'two', 1],
    ],
    'applyBatch j PUBLISH channel 2 4',
  ],
  [[['a', 'one', 1]], 'applyBatch j PUBLISH channel 1 3'],
  [
    [
      ['r', 'one'],
      ['w', 'two'],
    ],
    'applyBatch j PUBLISH channel 2 4',
  ],
] as const)('requests %j leave as %s', (requests, call) => {
  expect(callsOf(...requests)).toEqual([call])
})
