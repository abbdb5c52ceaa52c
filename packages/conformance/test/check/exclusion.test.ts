/** Exclusion, on short histories with a known verdict. */
import { afterLastEvents, checkHistory, holdsOf, type HistoryEvent } from '@holdfast/conformance'
import { SeededRandom } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { broken, story } from './support/story.js'

describe('exclusion', () => {
  test('is kept by holds that follow each other, also in the same nanosecond', () => {
    expect(
      broken(`
        1 a acquire invoke
        2 a acquire ok token=1
        3 b acquire invoke
        5 a release invoke
        5 b acquire ok token=2
        9 b release invoke`),
    ).toEqual([])
  })

  test('is broken by holds that overlap', () => {
    const violations = checkHistory(
      story(`
        2 a acquire ok token=1
        4 b acquire ok token=2
        5 a release invoke
        9 b release invoke`),
    )
    expect(violations).toHaveLength(1)
    expect(violations[0]?.message).toMatch(/b .*token 2.*came in beside a .*token 1/)
    const shown = violations[0]?.events.map(({ t_ns, client, f }) => `${t_ns} ${client} ${f}`)
    expect(shown).toEqual(['2 a acquire', '4 b acquire', '5 a release', '9 b release'])
  })

  test('ends with the deadline of the holder, unless it was renewed', () => {
    const fixed = `
      1 a acquire ok deadline_ns=10
      12 b acquire ok
      15 a release invoke
      16 b release invoke`
    expect(broken(fixed)).toEqual([])
    expect(broken(`${fixed}\n9 a renew ok deadline_ns=20`)).toEqual(['exclusion'])
  })

  test('ends when a holder that was stopped trusted the lease for the last time', () => {
    const late = `
      1 a acquire ok deadline_ns=20
      12 b acquire ok
      16 b release invoke`
    expect(broken(`${late}\n15 a release invoke deadline_ns=10`)).toEqual([])
    expect(broken(`${late}\n15 a release invoke deadline_ns=13`)).toEqual(['exclusion'])
    expect(broken(`${late}\n15 a release invoke`)).toEqual(['exclusion'])
  })

  test('ends when a lock that stays taken is free, or its process is killed', () => {
    const stays = '1 a acquire ok deadline_ns=20\n2 a release invoke deadline_ns=10'
    expect(broken(`${stays}\n11 b acquire ok\n12 b release invoke`)).toEqual([])
    expect(broken(`${stays}\n9 b acquire ok\n12 b release invoke`)).toEqual(['exclusion'])
    expect(broken(`${stays}\n8 a kill info\n9 b acquire ok\n12 b release invoke`)).toEqual([])
  })

  test('a renewal whose answer comes after a later renewal does not shorten it', () => {
    const renewed =
      '1 a acquire ok deadline_ns=10\n5 a renew ok deadline_ns=20\n6 a renew ok deadline_ns=15'
    expect(broken(`${renewed}\n17 b acquire ok`)).toEqual(['exclusion'])
    expect(broken(`${renewed}\n20 b acquire ok`)).toEqual([])
  })

  test('ends when the holder learns of the loss, or is killed', () => {
    for (const end of ['lost info', 'kill info']) {
      expect(broken(`1 a acquire ok\n5 a ${end}\n6 b acquire ok\n7 b release invoke`)).toEqual([])
    }
    expect(broken('1 a acquire ok\n5 c kill info\n6 b acquire ok')).toEqual(['exclusion'])
  })

  test('is broken when the weights exceed the capacity', () => {
    const readers = `
      1 a acquire ok weight=1 capacity=3
      2 b acquire ok weight=1 capacity=3`
    expect(broken(readers)).toEqual([])
    expect(broken(`${readers}\n3 c acquire ok weight=1 capacity=3`)).toEqual([])
    expect(broken(`${readers}\n3 c acquire ok weight=2 capacity=3`)).toEqual(['exclusion'])
    expect(broken(`${readers}\n3 c acquire ok weight=3 capacity=3`)).toEqual(['exclusion'])
  })

  test('counts an exclusive claim as the whole capacity, with any weight', () => {
    const reader = '1 a acquire ok capacity=3'
    expect(broken(`${reader}\n2 b acquire ok mode=exclusive capacity=3`)).toEqual(['exclusion'])
    expect(broken(`${reader}\n2 b acquire ok mode=shared capacity=3`)).toEqual([])
  })

  test('ends when the holder reads `held` as false', () => {
    const next = '6 b acquire ok\n7 b release invoke'
    expect(broken(`1 a acquire ok\n5 a held fail\n${next}`)).toEqual([])
    expect(broken(`1 a acquire ok\n5 a held ok\n${next}`)).toEqual(['exclusion'])
  })

  test('ends with the first end, and later events change nothing', () => {
    const ends = '1 a acquire ok deadline_ns=20\n5 a lost info\n6 b acquire ok\n7 b release invoke'
    expect(
      broken(`${ends}\n8 a renew ok deadline_ns=40\n9 a release invoke\n9 a release fail`),
    ).toEqual([])
  })

  test('a hold that was reported after its deadline excludes no other', () => {
    expect(broken('5 a acquire ok deadline_ns=4\n5 b acquire ok deadline_ns=9')).toEqual([])
    expect(broken('5 b acquire ok deadline_ns=9\n6 a acquire ok deadline_ns=4')).toEqual([])
  })

  test('lets readers in from the request of a downgrade on', () => {
    const writer = '1 a acquire ok mode=exclusive capacity=3\n5 a downgrade invoke weight=1'
    expect(broken(`${writer}\n5 b acquire ok capacity=3`)).toEqual([])
    expect(broken(`${writer}\n4 b acquire ok capacity=3`)).toEqual(['exclusion'])
    expect(broken(`${writer}\n6 b acquire ok mode=exclusive capacity=3`)).toEqual(['exclusion'])
    expect(
      broken(`${writer}\n8 a release invoke\n8 b acquire ok mode=exclusive capacity=3`),
    ).toEqual([])
  })

  test('is broken by one client that holds twice', () => {
    expect(broken('1 a acquire ok\n2 a acquire ok\n3 a release invoke')).toEqual(['exclusion'])
  })

  test('is broken when holders disagree on the capacity', () => {
    expect(broken('1 a acquire ok capacity=3\n2 b acquire ok capacity=4')).toEqual(['capacity'])
    expect(
      broken('1 a acquire ok capacity=3\n2 a release invoke\n2 b acquire ok capacity=4'),
    ).toEqual([])
  })

  test('does not mix up two processes with the same pid', () => {
    const first = '1 a acquire ok\n5 a kill info'
    expect(broken(`${first}\n6 a acquire ok\n7 a release invoke\n7 b acquire ok`)).toEqual([])
  })

  test('lists no more than a hundred violations of a lock', () => {
    const all = Array.from({ length: 300 }, (_, at) => `${at} a acquire ok`).join('\n')
    expect(broken(all)).toHaveLength(100)
  })

  test('is checked lock by lock', () => {
    const [one, two] = story('1 a acquire ok\n2 b acquire ok') as [HistoryEvent, HistoryEvent]
    expect(checkHistory([one, { ...two, key: 'other' }])).toEqual([])
  })

  test('does not depend on the order of the events', () => {
    const events = story('1 a acquire ok\n3 a release invoke\n2 b acquire ok\n4 b release invoke')
    expect(checkHistory(events.toReversed())).toHaveLength(1)
    expect(holdsOf(events).map(({ client, endNs }) => [client, endNs])).toEqual([
      ['a', 3n],
      ['b', 4n],
    ])
  })
})

test('exclusion among many clients has the verdict of counting at each moment', () => {
  let passed = 0
  for (let seed = 1; seed <= 2000; seed += 1) {
    const random = new SeededRandom(seed)
    const capacity = 8 + Math.floor(random.next() * 12)
    const times = Array.from({ length: 30 }, () => {
      const start = Math.floor(random.next() * 100)
      return { start, end: start + Math.floor(random.next() * 60) }
    })
    const most = Math.max(
      ...times.map(
        ({ start: now }) => times.filter(({ start, end }) => start <= now && now < end).length,
      ),
    )
    const events = times.flatMap(({ start, end }, at) =>
      story(`${start} a acquire ok capacity=${capacity}\n${end} a release invoke`).map((event) => ({
        ...event,
        client: `c${at}`,
      })),
    )
    expect(checkHistory(events).length === 0, `seed ${seed}`).toBe(most <= capacity)
    passed += Number(most <= capacity)
  }
  expect(passed).toBeGreaterThan(400)
  expect(passed).toBeLessThan(1600)
})

describe('a kill that was recorded before the signal was sent', () => {
  const kill = story('10 s kill info').map((event) => ({ ...event, pid: 97 }))
  const killed = story(`
    8 a acquire invoke
    12 a acquire ok token=1`)
  const next = story(`
    9 b acquire invoke
    15 b acquire ok token=2
    16 b release invoke`)

  test('counts from the last event of the process', () => {
    const events = [...afterLastEvents(kill, [killed, next]), ...killed, ...next]
    expect(checkHistory(events)).toEqual([])
    expect(checkHistory([...kill, ...killed, ...next]).map(({ property }) => property)).toEqual([
      'exclusion',
    ])
  })

  test('is not moved by a later process with the same pid', () => {
    const later = story('20 a acquire invoke\n21 a acquire ok token=3')
    expect(afterLastEvents(kill, [killed, later])).toEqual([{ ...kill[0], t_ns: 13n }])
  })
})
