/** The slot of a run is the time that the library had planned, also where clocks are changed. */
import { CronJob } from 'cron'
import { Cron, type CronOptions } from 'croner'
import { LockUsageError } from 'holdfast'
import { slotOf } from 'holdfast/cron'
import { expect, test } from 'vitest'
import { todaysPart } from '../../../../test/support/plan.js'
import { slotAt } from '../../dist/cron/slot-of.js'

/** Hours around which clocks change, and a day in which they do not. */
const TIMES: readonly (readonly [zone: string, at: string])[] = [
  ['Europe/Berlin', '2026-03-29T00:30:00Z'],
  ['Europe/Berlin', '2026-10-25T00:00:00Z'],
  ['America/New_York', '2026-03-08T06:30:00Z'],
  ['America/New_York', '2026-11-01T05:30:00Z'],
  ['Australia/Lord_Howe', '2026-04-04T14:30:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T15:00:00Z'],
  ['Asia/Kolkata', '2027-02-28T18:00:00Z'],
]
const PATTERNS = [
  '* * * * * *',
  '*/5 * * * * *',
  '7,8,9 */7 * * * *',
  '0 */30 * * * *',
  '0 30 1 * * *',
  '0 30 2 * * *',
  '0 0 0 * * 1-5',
  '30 15 3 1 * *',
  '0 0 0 29 2 *',
]
/** How late a callback may be called. */
const LATE_MS = [0, 1, 18, 700]
const RUNS = 40
/** Each day the usual plan runs another part. */
const PARTS = 5

const cases = todaysPart(
  PATTERNS.flatMap((pattern) => TIMES.map(([zone, at]) => [pattern, zone, at] as const)),
  PARTS,
)

test.each(cases)('croner: %s in %s from %s', (pattern, zone, at) => {
  const job = new Cron(pattern, { timezone: zone, paused: true })
  let due = job.nextRun(new Date(at))
  for (let run = 0; due && run < RUNS; run += 1) {
    for (const lateMs of LATE_MS) expect(new Date(slotAt(job, due.getTime() + lateMs))).toEqual(due)
    due = job.nextRun(due)
  }
})

/** There `cron` itself goes back half an hour, again and again. */
const PAST_CRON = 'Australia/Lord_Howe from 2026-04-04T14:30:00Z'

test.each(cases.filter(([, zone, at]) => `${zone} from ${at}` !== PAST_CRON))(
  'cron: %s in %s from %s',
  (pattern, zone, at) => {
    const { cronTime, ...job } = CronJob.from({ cronTime: pattern, timeZone: zone, onTick() {} })
    // It looks for the next run when the last one begins, some milliseconds late.
    const nextAfter = (ms: number): number =>
      cronTime.getNextDateFrom(new Date(ms), zone).toMillis()
    // It looks eight years ahead.
    const runs = pattern.includes(' 29 2 ') ? 2 : RUNS
    for (let run = 0, due = Date.parse(at); run < runs; run += 1) {
      due = nextAfter(due + 18)
      for (const lateMs of LATE_MS) expect(slotAt({ ...job, cronTime }, due + lateMs)).toBe(due)
    }
  },
)

function due(time: string): number {
  return Date.parse(`2027-06-30T${time}Z`)
}

test('a run by hand has the slot that was due last', () => {
  const nowMs = Date.parse('2027-06-30T21:17:05.400Z')
  const cron = (cronTime: string, utcOffset = 0) =>
    slotAt(CronJob.from({ cronTime, utcOffset, onTick() {} }), nowMs)
  expect(cron('0 3 * * *')).toBe(due('03:00:00'))
  expect(cron('* * 3 * * *')).toBe(due('03:59:59'))
  expect(cron('0 3 * * *', -150)).toBe(due('05:30:00'))
  expect(cron('0 3 * * *', 345)).toBe(due('21:15:00'))
  expect(cron('@weekly')).toBe(Date.parse('2027-06-27T00:00:00Z'))
  const croner = (pattern: string, options: CronOptions) =>
    slotAt(new Cron(pattern, { paused: true, ...options }), nowMs)
  expect(croner('0 3 * * *', { utcOffset: 0 })).toBe(due('03:00:00'))
  expect(croner('* * 3 * * *', { utcOffset: 0 })).toBe(due('03:59:59'))
  expect(croner('0 3 * * *', { utcOffset: 0, dayOffset: -1 })).toBe(due('03:00:00'))
})

test('a job for one date has that as its slot', () => {
  const date = new Date(Date.now() + 60_000)
  expect(slotOf(new Cron(date, { paused: true }))).toEqual(date)
  expect(slotOf(CronJob.from({ cronTime: date, onTick() {} }))).toEqual(date)
})

test('a last run, and one before all, have a slot', () => {
  const last = new Cron('* * * * * *', { paused: true, maxRuns: 0 })
  const nowMs = Date.now()
  expect(slotAt(last, nowMs)).toBe(Math.floor(nowMs / 1_000) * 1_000)
  const future = new Cron('0 0 0 1 1 * 2999', { paused: true })
  expect(slotAt(future, nowMs)).toBe(nowMs)
})

function refusal(job: unknown): string {
  try {
    slotOf(job as Cron)
  } catch (error) {
    expect(error).toBeInstanceOf(LockUsageError)
    return (error as Error).message
  }
  return 'accepted'
}

test('jobs without slots that replicas share are refused, with the cure', () => {
  const interval = new Cron('* * * * * *', { paused: true, interval: 90 })
  expect(refusal(interval)).toContain('Write the period into the pattern.')
  const old = { getPattern() {}, msToNext() {}, previousRun() {} }
  expect(refusal(old)).toContain('Update croner.')
  expect(refusal(undefined)).toContain('get their slot as an argument')
  expect(refusal(new Date())).toContain('not an object')
})
