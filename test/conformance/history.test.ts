/** Histories and their checkers, on small stories whose end is known. */
import {
  checkHistory,
  formatEvent,
  HistoryError,
  holdsOf,
  parseHistory,
  type HistoryEvent,
} from 'holdfast/conformance'
import { describe, expect, test } from 'vitest'

/** Tells a story: one event a line, such as `10 a acquire ok token=7`. Times are in nanoseconds. */
function story(text: string): HistoryEvent[] {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [t = '', client = '', f = '', type = '', ...rest] = line.trim().split(/\s+/)
      const more = Object.fromEntries(
        rest
          .map((pair) => pair.split('=') as [string, string])
          .map(([name, value]) => [name, toValue(name, value)]),
      )
      const pid = client.charCodeAt(0)
      return { t_ns: BigInt(t), pid, client, key: 'lock', f, type, ...more } as HistoryEvent
    })
}

function toValue(name: string, value: string): bigint | number | string {
  if (name === 'token' || name === 'deadline_ns') return BigInt(value)
  return /^\d+$/.test(value) ? Number(value) : value
}

const properties = (text: string): string[] => checkHistory(story(text)).map(({ property }) => property)

describe('exclusion', () => {
  test('is kept by holds that follow each other, also in the same nanosecond', () => {
    expect(
      properties(`
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
  })

  test('ends with the deadline that the holder knew, unless it was renewed', () => {
    const fixed = `
      1 a acquire ok deadline_ns=10
      12 b acquire ok
      15 a release invoke
      16 b release invoke`
    expect(properties(fixed)).toEqual([])
    expect(properties(`${fixed}\n9 a renew ok deadline_ns=20`)).toEqual(['exclusion'])
  })

  test('ends when the holder is told of the loss, or is killed', () => {
    for (const end of ['lost info', 'kill info']) {
      expect(properties(`1 a acquire ok\n5 a ${end}\n6 b acquire ok\n7 b release invoke`)).toEqual([])
    }
    expect(properties('1 a acquire ok\n5 c kill info\n6 b acquire ok')).toEqual(['exclusion'])
  })

  test('is a matter of weights', () => {
    const readers = `
      1 a acquire ok weight=1 capacity=3
      2 b acquire ok weight=1 capacity=3`
    expect(properties(readers)).toEqual([])
    expect(properties(`${readers}\n3 c acquire ok weight=1 capacity=3`)).toEqual([])
    expect(properties(`${readers}\n3 c acquire ok weight=2 capacity=3`)).toEqual(['exclusion'])
    expect(properties(`${readers}\n3 c acquire ok weight=3 capacity=3`)).toEqual(['exclusion'])
  })

  test('is judged lock by lock', () => {
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

describe('tokens', () => {
  test('may come in either order to those who asked side by side', () => {
    expect(
      properties(`
        1 a acquire invoke
        2 b acquire invoke
        3 a acquire ok token=9
        4 a release invoke
        5 b acquire ok token=8`),
    ).toEqual([])
  })

  test('are smaller for those who were told before others asked', () => {
    expect(
      properties(`
        1 a acquire invoke
        3 a acquire ok token=9
        4 a release invoke
        5 b acquire invoke
        6 b acquire ok token=8`),
    ).toEqual(['token-order'])
  })

  test('are given once', () => {
    expect(
      properties(`
        1 a acquire invoke
        2 b acquire invoke
        3 a acquire ok token=9
        4 a release invoke
        5 b acquire ok token=9`),
    ).toEqual(['token-unique'])
  })
})

describe('a history', () => {
  test('is read as it was written, large numbers included', () => {
    const events = story(`
      9007199254740993 a acquire invoke
      9007199254740995 a acquire ok token=1795235854224101001 deadline_ns=9007199254740997 weight=2 capacity=4`)
    expect(parseHistory(events.map((event) => `${formatEvent(event)}\n`).join(''))).toEqual(events)
  })

  test('may end in the middle of a line if a process was killed', () => {
    const line = `${formatEvent(story('1 a acquire ok')[0] as HistoryEvent)}\n`
    expect(parseHistory(`${line}{"t_ns":"2","pi`, { cut: true })).toHaveLength(1)
    expect(() => parseHistory(`${line}{"t_ns":"2","pi`)).toThrow(HistoryError)
  })

  test('that makes no sense is refused, with the number of the line', () => {
    const good = formatEvent(story('1 a acquire ok')[0] as HistoryEvent)
    const bad = [
      'no json',
      '42',
      'null',
      good.replace('acquire', 'require'),
      good.replace('"ok"', '"maybe"'),
      good.replace('"t_ns":"1"', '"t_ns":"soon"'),
      good.replace('"t_ns":"1",', ''),
      good.replace('"client":"a"', '"client":7'),
    ]
    for (const line of bad) {
      expect(() => parseHistory(`${good}\n\n${line}\n`), line).toThrow(/^Line 3 of the history/)
    }
  })
})
