/**
 * Histories as text: a written history is read as the same, and a wrong line is refused with its
 * number.
 */
import { formatEvent, HistoryError, parseHistory, readHistory } from '@holdfast/conformance'
import { describe, expect, test } from 'vitest'
import { story } from './support/story.js'

const EVENTS = story(`
  9007199254740993 a acquire invoke mode=exclusive weight=2 capacity=4
  9007199254740994 a enqueued info claim=c1
  9007199254740995 a acquire ok token=1795235854224101001 deadline_ns=9007199254740997 claim=c1
  9007199254740995 a renew ok deadline_ns=9007199254740999
  9007199254740995 a write invoke token=1795235854224101001
  9007199254740995 a write ok value=1
  9007199254740996 a read ok value=1
  9007199254740996 a downgrade invoke weight=1
  9007199254740996 a held fail
  9007199254740997 a release fail
  12 s kill info
  13 s truth info owner=c1 token=1795235854224101001 tokens=32 start_ns=9007199254740993 end_ns=9007199254740999`)

const GOOD = formatEvent(story('7 a acquire ok')[0]!)

function lineOf(events: typeof EVENTS): string {
  return events.map((event) => `${formatEvent(event)}\n`).join('')
}

async function* pieces(text: string, length: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

function failure(text: string, options = {}): HistoryError {
  try {
    parseHistory(text, options)
  } catch (error) {
    expect(error).toBeInstanceOf(HistoryError)
    return error as HistoryError
  }
  throw new Error(`This was read without an error: ${text}`)
}

describe('a history', () => {
  test('is read as it was written, large numbers included', () => {
    expect(parseHistory(lineOf(EVENTS))).toEqual(EVENTS)
  })

  test('is read from a stream that is cut at any place', async () => {
    const events = EVENTS.map((event) => ({ ...event, note: 'Grüße 🔒' }))
    for (const length of [1, 7, 4096]) {
      expect(await readHistory(pieces(lineOf(events), length))).toEqual(events)
    }
  })

  test('may have small times and tokens as plain numbers, empty lines, and no newline at its end', () => {
    const text = `\n\r\n${GOOD.replace('"7"', '7')}\r\n\n${GOOD}`
    expect(parseHistory(text)).toEqual(story('7 a acquire ok\n7 a acquire ok'))
  })

  test('may end in the middle of a line if a process was killed', () => {
    const text = `${GOOD}\n{"t_ns":"2","pi`
    expect(parseHistory(text, { cut: true })).toHaveLength(1)
    expect(failure(text)).toMatchObject({ line: 2, message: expect.stringContaining('is cut off') })
    expect(failure(`{"t_ns":"2","pi\n${GOOD}\n`, { cut: true }).line).toBe(1)
  })

  test('of nothing is empty', () => {
    expect(parseHistory('')).toEqual([])
  })
})

describe('a wrong line is refused, with what is expected:', () => {
  const cases: readonly (readonly [what: string, line: string, message: RegExp])[] = [
    ['no JSON', 'acquire ok', /is not JSON \(acquire ok\): expected one event as a JSON object/],
    ['a number', '42', /is not an object \(42\)/],
    ['null', 'null', /is not an object/],
    ['an array', '[]', /is not an object/],
    [
      'an unknown action',
      GOOD.replace('acquire', 'require'),
      /has "require" as f: expected one of acquire,/,
    ],
    [
      'an unknown type',
      GOOD.replace('"ok"', '"maybe"'),
      /has "maybe" as type: expected one of invoke, ok,/,
    ],
    [
      'a type that the action lacks',
      GOOD.replace('acquire', 'lost'),
      /unknown event: lost ok: expected one of info/,
    ],
    [
      'a time that is no number',
      GOOD.replace('"7"', '"soon"'),
      /has "soon" as t_ns: expected nanoseconds/,
    ],
    ['a negative time', GOOD.replace('"7"', '-7'), /has -7 as t_ns/],
    ['a fraction', GOOD.replace('"7"', '7.5'), /has 7\.5 as t_ns/],
    [
      'a number that lost digits',
      GOOD.replace('"7"', '9007199254740993'),
      /as t_ns: expected .* up to 2\^53 - 1/,
    ],
    ['no time', GOOD.replace('"t_ns":"7",', ''), /has no t_ns: expected nanoseconds/],
    ['no process', GOOD.replace('"pid":97,', ''), /has no pid: expected a whole number from 0 on/],
    [
      'a client that is not a string',
      GOOD.replace('"client":"a"', '"client":7'),
      /has 7 as client: expected a string/,
    ],
    [
      'a weight of 0',
      GOOD.replace('}', ',"weight":0}'),
      /has 0 as weight: expected a whole number from 1 on/,
    ],
    [
      'an unknown field',
      GOOD.replace('}', ',"capcity":3}'),
      /unknown field "capcity": expected no other/,
    ],
    ['a prototype', GOOD.replace('}', ',"__proto__":{}}'), /unknown field "__proto__"/],
    [
      'a renewal without its deadline',
      GOOD.replace('acquire', 'renew'),
      /has no deadline_ns for renew ok/,
    ],
    ['a write without its value', GOOD.replace('acquire', 'write'), /has no value for write ok/],
  ]

  test.each(cases)('%s', (_what, line, message) => {
    const error = failure(`${GOOD}\n\n${line}\n`)
    expect(error.line).toBe(3)
    expect(error.message).toMatch(/^Line 3 of the history /)
    expect(error.message).toMatch(message)
    expect(error.expected).not.toBe('')
  })

  test('a long line is shown in part', () => {
    expect(failure(`${'x'.repeat(10_000)}\n`).message.length).toBeLessThan(200)
  })

  test('a clock that runs backwards within one process', () => {
    const [early, late] = [GOOD.replace('"7"', '"6"'), GOOD]
    expect(failure(`${late}\n${early}\n`)).toMatchObject({
      line: 2,
      message: expect.stringContaining('process 97 was at 7 before and is at 6'),
    })
    expect(parseHistory(`${late}\n${early.replace('"pid":97', '"pid":98')}\n`)).toHaveLength(2)
  })

  test('except events that another process writes, which may be out of order', () => {
    expect(
      parseHistory(lineOf(story('9 a kill info\n7 a acquire ok\n8 a kill info'))),
    ).toHaveLength(3)
  })
})
