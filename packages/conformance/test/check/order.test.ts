/** The FIFO bound, and liveness after the last fault, on short histories. */
import { describe, expect, test } from 'vitest'
import { broken } from './support/story.js'

/** Returns `count` holds of one process, each 2 ns long, from `from` on. */
function row(client: string, from: number, count: number, more = ''): string {
  return Array.from({ length: count }, (_, at) => {
    const t = from + 3 * at
    return `${t} ${client} acquire invoke\n${t} ${client} acquire ok ${more}\n${t + 2} ${client} release invoke`
  }).join('\n')
}

const waiting = '1 w acquire invoke\n2 w enqueued info'
const granted = '5000 w acquire ok\n5001 w release invoke'

/** A reader that waits, and a later one that learned of its grant first. */
function besideReader(token: string): string {
  return `${waiting}\n3 a acquire invoke\n4 a acquire ok capacity=3 ${token}\n9 w acquire ok capacity=3 `
}

describe('the FIFO bound', () => {
  const strict = { fifo: { inARow: 0 } }

  test('a strict queue lets no later request overtake', () => {
    expect(broken(`${waiting}\n${row('a', 3, 1)}\n${granted}`, strict)).toEqual(['fifo'])
    expect(broken(`${waiting}\n${row('a', 6000, 1)}\n${granted}`, strict)).toEqual([])
  })

  test('lets requests overtake that came before the wait was acknowledged', () => {
    const early = '1 a acquire invoke\n9 a acquire ok\n10 a release invoke'
    expect(broken(`${waiting}\n${early}\n${granted}`, strict)).toEqual([])
  })

  test('allows each process one row of hand-offs, and no hold more', () => {
    expect(
      broken(`${waiting}\n${row('a', 3, 32)}\n${row('b', 200, 32)}\n${granted}`, { fifo: true }),
    ).toEqual([])
    expect(broken(`${waiting}\n${row('a', 3, 33)}\n${granted}`, { fifo: true })).toEqual(['fifo'])
    expect(broken(`${waiting}\n${row('a', 3, 3)}\n${granted}`, { fifo: { inARow: 2 } })).toEqual([
      'fifo',
    ])
  })

  test('counts from the first time that the wait was acknowledged', () => {
    expect(broken(`${waiting}\n${row('a', 3, 1)}\n9 w enqueued info\n${granted}`, strict)).toEqual([
      'fifo',
    ])
  })

  test('holds for waiters that are never granted or give up', () => {
    expect(broken(`${waiting}\n${row('a', 3, 33)}`, { fifo: true })).toEqual(['fifo'])
    const passed = `${waiting}\n${row('a', 3, 33)}`
    expect(broken(`${passed}\n250004000 w acquire fail`, { fifo: true })).toEqual(['fifo'])
    // The client may have asked for the holders meanwhile: the wait was over.
    expect(broken(`${passed}\n4000 w acquire fail`, { fifo: true })).toEqual([])
    expect(broken(`${waiting}\n4 w acquire fail\n${row('a', 5, 33)}`, { fifo: true })).toEqual([])
  })

  test('ignores waits that were not acknowledged', () => {
    expect(broken(`1 w acquire invoke\n${row('a', 3, 33)}\n${granted}`, { fifo: true })).toEqual([])
  })

  test('uses the tokens of claims that fit beside each other', () => {
    expect(broken(besideReader(''), strict)).toEqual([])
    expect(broken(`${besideReader('token=8')}token=7`, strict)).toEqual([])
    expect(broken(`${besideReader('token=7')}token=8`, strict)).toEqual(['fifo'])
  })

  test('limits a row of one claim by number and by time', () => {
    expect(broken(row('a', 3, 32, 'claim=c'), { fifo: true })).toEqual([])
    expect(broken(row('a', 3, 33, 'claim=c'), { fifo: true })).toEqual(['fifo-row'])
    const late = `${row('a', 3, 1, 'claim=c')}\n${row('a', 10_000_004, 1, 'claim=c')}`
    expect(broken(late, { fifo: true })).toEqual(['fifo-row'])
    expect(broken(late, { fifo: { slackNs: 1n } })).toEqual([])
    expect(broken(row('a', 3, 2, 'claim=c'), { fifo: { inARow: 1 } })).toEqual(['fifo-row'])
  })

  test('allows rows in a strict queue only if they overtake no waiter', () => {
    expect(broken(row('a', 3, 32, 'claim=c'), strict)).toEqual([])
    expect(broken(row('a', 3, 33, 'claim=c'), strict)).toEqual(['fifo-row'])
    expect(broken(`${waiting}\n${row('a', 3, 2, 'claim=c')}\n${granted}`, strict)).toEqual(['fifo'])
  })
})

describe('liveness', () => {
  const liveness = { healedNs: 100n, boundNs: 50n }

  test('is kept when all waits are granted or end within the bound', () => {
    const story = `
      10 a acquire invoke
      20 b acquire invoke
      140 a acquire ok
      141 a release invoke
      150 b acquire fail
      200 c acquire invoke
      250 c acquire ok`
    expect(broken(story, { liveness })).toEqual([])
  })

  test('is broken by a wait that is granted too late or never', () => {
    expect(broken('10 a acquire invoke\n151 a acquire ok', { liveness })).toEqual(['liveness'])
    expect(broken('10 a acquire invoke\n151 a acquire fail', { liveness })).toEqual(['liveness'])
    expect(broken('200 a acquire invoke\n251 a acquire ok', { liveness })).toEqual(['liveness'])
    expect(broken('10 a acquire invoke', { liveness })).toEqual(['liveness'])
    expect(
      broken('10 a acquire invoke\n20 a acquire invoke\n30 a acquire ok', { liveness }),
    ).toEqual(['liveness'])
  })

  test('ignores killed processes', () => {
    expect(broken('10 a acquire invoke\n120 a kill info', { liveness })).toEqual([])
    expect(broken('10 a acquire invoke\n160 a kill info', { liveness })).toEqual(['liveness'])
  })

  test('is not checked beyond the end of the recording', () => {
    expect(broken('10 a acquire invoke', { liveness: { ...liveness, watchedNs: 149n } })).toEqual(
      [],
    )
    expect(broken('10 a acquire invoke', { liveness: { ...liveness, watchedNs: 150n } })).toEqual([
      'liveness',
    ])
  })
})
