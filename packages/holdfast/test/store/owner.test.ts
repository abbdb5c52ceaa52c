/** Owners and reasons as another client may have written them into a store. */
import { expect, test } from 'vitest'
import { decodeEntry } from '../../dist/stores/coordination/wire.js'
import { parseOwner, parseText, UNREADABLE_OWNER } from '../../dist/store/owner.js'
import { pack, unpack } from '../../dist/stores/embedded/database/codec.js'
import { readLock, readRenewal } from '../../dist/stores/redis/wire/answers.js'
import { lockInfo, renewResult } from '../../dist/stores/sql/wire.js'

const WAIT = { id: 'w', lock: 'l', weight: 1, sinceMs: 1, clientId: 'c' }
const OWNER = {
  clientId: 'c',
  host: 'h',
  pid: 7,
  label: 'l',
  group: { pgid: 1, startTime: '2' },
  election: true,
  localWaiters: 3,
  waitsFor: [WAIT],
}
const WRONG = [
  '{not json',
  'null',
  '7',
  '[]',
  '{}',
  JSON.stringify({ ...OWNER, host: 1 }),
  JSON.stringify({ ...OWNER, pid: '1; rm -rf /' }),
  JSON.stringify({ ...OWNER, label: { a: 1 } }),
  JSON.stringify({ ...OWNER, group: { pgid: 1 } }),
  JSON.stringify({ ...OWNER, election: 'yes' }),
  JSON.stringify({ ...OWNER, localWaiters: '3' }),
  JSON.stringify({ ...OWNER, waitsFor: [{ ...WAIT, clientId: 1 }] }),
]

test('an owner is read as it was written', () => {
  expect(parseOwner(JSON.stringify(OWNER))).toEqual(OWNER)
  expect(parseText(JSON.stringify('why'))).toBe('why')
})

test.each(WRONG)('%s is shown as an unreadable owner', (text) => {
  expect(parseOwner(text)).toBe(UNREADABLE_OWNER)
  const holder = ['id', text, '1', '5', '10', '20', '1', '{not json']
  const redis = readLock('lock', ['mutex', '1', '5', [holder], [['id', text, '1', '10']]])
  const row = { claimId: 'id', owner: text, weight: 1, token: '5', because: '{not json' }
  const answer = {
    lock: { kind: 'mutex', capacity: 1, lastToken: '5' },
    holders: [row],
    waiters: [row],
  }
  for (const info of [redis, lockInfo('lock', answer)]) {
    expect(info?.holders[0]).toMatchObject({ claimId: 'id', owner: UNREADABLE_OWNER })
    expect(info?.holders[0]?.stealReason).toBeUndefined()
    expect(info?.waiters[0]?.owner).toBe(UNREADABLE_OWNER)
  }
})

test.each(['null', '7', '{}'])(
  'the entry of a queue and the line of a file with the owner %s',
  (text) => {
    const owner: unknown = JSON.parse(text)
    const lasting = { kind: 'mutex', capacity: 1, weight: 1, ttlMs: 1000, sinceMs: 1 }
    const entry = { format: 1, ...lasting, owner }
    expect(decodeEntry(JSON.stringify(entry))?.owner).toBe(UNREADABLE_OWNER)
    const line = {
      k: 'mutex',
      c: 1,
      t: 5,
      o: [['s', owner]],
      h: [['~x', 0, 0, 5, 1, 0, 1000, 1000, 0]],
      q: [],
      w: [],
      d: [],
    }
    const read = unpack('a', JSON.stringify(line))
    expect(read.state.holders.get('unreadable.x')?.owner).toBe(UNREADABLE_OWNER)
    expect(unpack('a', pack(read)).state.holders.size).toBe(1)
  },
)

test('an unreadable reason leaves a theft without one', () => {
  expect(readRenewal('s {not json')).toEqual({ outcome: 'lost', reason: 'stolen' })
  expect(renewResult({ outcome: 'lost', reason: 'stolen', because: '{not json' })).toEqual({
    outcome: 'lost',
    reason: 'stolen',
  })
})
