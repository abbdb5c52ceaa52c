/**
 * What a run is judged by: what its faults leave promised, when losses were announced, and what the
 * report shows of it.
 */
import { parseHistory } from '@holdfast/conformance'
import { STORES } from '@holdfast/stores'
import {
  Chronicle,
  drawPlan,
  judge,
  promisedFaults,
  report,
  announcementsOf,
  waivers,
} from '@holdfast/torture'
import { describe, expect, test } from 'vitest'

type Kind = ReturnType<typeof promisedFaults>[number]

const MS = 1_000_000n

function line(atMs: number, rest: object): string {
  return JSON.stringify({
    t_ns: String(BigInt(atMs) * MS),
    pid: 7,
    client: 'c0.a',
    key: 'k',
    mode: 'exclusive',
    weight: 1,
    capacity: 1,
    ...rest,
  })
}

/** Two hold at once, from 150 to 200 ms. */
const OVERLAP = parseHistory(
  [
    line(0, { f: 'acquire', type: 'invoke' }),
    line(100, { f: 'acquire', type: 'ok', token: '1', deadline_ns: String(1000n * MS) }),
    line(110, { pid: 8, client: 'c1.a', f: 'acquire', type: 'invoke' }),
    line(150, {
      pid: 8,
      client: 'c1.a',
      f: 'acquire',
      type: 'ok',
      token: '2',
      deadline_ns: String(1000n * MS),
    }),
    line(200, { f: 'release', type: 'invoke' }),
    line(201, { f: 'release', type: 'ok' }),
    line(210, { pid: 8, client: 'c1.a', f: 'release', type: 'invoke' }),
    line(211, { pid: 8, client: 'c1.a', f: 'release', type: 'ok' }),
    '',
  ].join('\n'),
)

/** Process 7 exports its lease and is killed, and these processes adopt it one after the other. */
function adoptions(...heirs: readonly number[]) {
  const held = { token: '1', deadline_ns: String(5000n * MS) }
  const lines = heirs.flatMap((pid, number) => {
    const heir = { pid, client: `c${number}.heir${number}/c0.a@7#1` }
    const atMs = 200 + 50 * number
    const token = String(number + 2)
    const write = { ...heir, f: 'write', token, value: number + 1 }
    return [
      line(atMs, { ...heir, f: 'acquire', type: 'invoke' }),
      line(atMs + 5, { ...heir, f: 'acquire', type: 'ok', ...held, token }),
      line(atMs + 6, { ...write, type: 'invoke' }),
      line(atMs + 7, { ...write, type: 'ok' }),
      line(atMs + 10, { ...heir, f: 'release', type: 'invoke' }),
      line(atMs + 11, { ...heir, f: 'release', type: 'ok' }),
    ]
  })
  return parseHistory(
    [
      line(0, { f: 'acquire', type: 'invoke' }),
      line(100, { f: 'acquire', type: 'ok', ...held }),
      line(150, { f: 'release', type: 'invoke' }),
      line(160, { f: 'release', type: 'info' }),
      line(170, { f: 'kill', type: 'info', client: '', key: '' }),
      ...lines,
      '',
    ].join('\n'),
  )
}

function timeOf(text: string): number {
  return text === '' ? Infinity : Number((JSON.parse(text) as { t_ns: string }).t_ns)
}

function outcomeOf(events = OVERLAP) {
  const [startNs, healedNs, watchedNs] = [0n, 300n * MS, 400n * MS]
  return {
    plan: [],
    chronicle: new Chronicle(),
    events,
    notes: [],
    startNs,
    healedNs,
    watchedNs,
    ghosts: [],
  }
}

const options = {
  store: 'redis',
  subject: 'holdfast',
  seconds: 1,
  seed: 1,
  kinds: ['pause'],
} as const

/** What is not promised. */
function of(...kinds: readonly Kind[]): string[] {
  return waivers('redis', kinds, true).map(({ property }) => property)
}

describe('a run', () => {
  test('with two holders at once breaks exclusion where that is promised', () => {
    const { verdicts, findings } = judge(options, outcomeOf())
    expect(verdicts.find(({ property }) => property === 'exclusion')).toMatchObject({
      outcome: 'broken',
    })
    expect(findings[0]).toMatchObject({ property: 'exclusion', promised: true })
  })

  test('counts them where it is not, and still promises the rest', () => {
    const { verdicts } = judge({ ...options, kinds: ['pause', 'flush'] }, outcomeOf())
    expect(verdicts.find(({ property }) => property === 'exclusion')).toMatchObject({
      outcome: 'waived',
      violations: 1,
    })
    expect(verdicts.filter(({ outcome }) => outcome === 'waived')).toHaveLength(1)
  })

  test('with two adopters of one handle breaks exclusion, also one after the other', () => {
    const { findings } = judge(options, outcomeOf(adoptions(8, 9)))
    expect(findings.map(({ kind }) => kind)).toEqual(['adopted-twice'])
  })

  test('with one adopter keeps every promise, and counts it if its exporter was killed', () => {
    const { findings, adoptions: counted } = judge(options, outcomeOf(adoptions(8)))
    expect(findings).toEqual([])
    expect(counted).toEqual({ adopted: 1, ofKilled: 1 })
  })

  test('with a write of a lease after one of a later lease breaks the counter', () => {
    const later = { pid: 8, client: 'c1.a', token: '3' }
    const deadline_ns = String(1000n * MS)
    const history = (lateMs: number): string =>
      [
        line(0, { f: 'acquire', type: 'invoke' }),
        line(10, { f: 'acquire', type: 'ok', token: '9', deadline_ns }),
        line(20, { ...later, token: undefined, f: 'acquire', type: 'invoke' }),
        line(30, { ...later, f: 'acquire', type: 'ok', deadline_ns }),
        line(40, { ...later, f: 'write', type: 'invoke', value: 1 }),
        line(41, { ...later, f: 'write', type: 'ok', value: 1 }),
        line(lateMs, { f: 'write', type: 'invoke', token: '9', value: 2 }),
        line(lateMs + 1, { f: 'write', type: 'ok', token: '9', value: 2 }),
        '',
      ]
        .toSorted((a, b) => timeOf(a) - timeOf(b))
        .join('\n')
    const overtaken = (lateMs: number): number =>
      judge(options, outcomeOf(parseHistory(history(lateMs)))).findings.filter(
        ({ kind }) => kind === 'overtaken-write',
      ).length
    // No token shows it: that of the earlier lease is larger.
    expect(overtaken(50)).toBe(1)
    expect(overtaken(35)).toBe(0)
  })

  test('loses tokens only to a server that forgot and whose clock went back', () => {
    expect(of('pause', 'kill')).toEqual([])
    expect(of('flush')).toEqual(['exclusion'])
    expect(of('flush', 'clock-back')).toContain('tokens')
    expect(waivers('redlock', [], false).map(({ property }) => property)).toEqual(['counter'])
  })
})

describe('a schedule', () => {
  test.for(STORES)('of $name has every fault that it is asked for', ({ name, torture }) => {
    const kinds = promisedFaults(name)
    const plan = drawPlan({ seed: 3, seconds: 120, kinds, ...torture })
    expect(new Set(plan.map(({ kind }) => kind))).toEqual(new Set(kinds))
    expect(plan.every(({ server }) => server < Math.max(1, torture.servers))).toBe(true)
  })
})

function loss(pid: number, deadlineMs: bigint, toldMs: bigint) {
  const times = { deadline_ns: String(deadlineMs * MS), announced_ns: String(toldMs * MS) }
  return { note: 'loss', key: 'k', client: 'c', pid, reason: 'deadline', ...times } as const
}

describe('losses', () => {
  test('count from the deadline, or from the waking of a process that was stopped over it', () => {
    const stops = [{ pid: 2, startNs: 50n * MS, endNs: 900n * MS }]
    const { awake, woken, reasons } = announcementsOf(
      [loss(1, 100n, 99n), loss(1, 100n, 103n), loss(2, 100n, 904n), loss(2, 40n, 39n)],
      stops,
    )
    expect(awake).toEqual({ count: 3, p50: -1, p90: 3, p99: 3, max: 3 })
    expect(woken).toMatchObject({ count: 1, max: 4 })
    expect(reasons).toEqual({ deadline: 4 })
  })
})

describe('the report', () => {
  const outcome = outcomeOf()
  const html = report([{ options, outcome, judgement: judge(options, outcome) }])

  test('stands by itself: nothing is loaded from anywhere', () => {
    expect(html).not.toMatch(/<(?:script|link|img|iframe)\b|@import|url\(|https?:\/\//)
    expect(html).toContain('color-scheme: light dark')
  })

  test('draws holders and waiters, and marks the violation with the piece of history that shows it', () => {
    expect(html.match(/class="hold marked"/g)?.length).toBeGreaterThanOrEqual(4)
    expect(html).toContain('class="wait"')
    expect(html).toContain('&quot;f&quot;:&quot;acquire&quot;,&quot;type&quot;:&quot;ok&quot;')
    expect(html).toContain('npm run torture -- --store redis --seconds 1 --seed 1 --faults pause')
  })

  test('closes every tag that it opens', () => {
    const open: string[] = []
    for (const [, close, name = '', empty] of html.matchAll(
      /<(\/?)([a-z][a-z0-9]*)\b[^>]*?(\/?)>/g,
    )) {
      if (empty === '/' || name === 'meta') continue
      if (close === '/') expect(open.pop()).toBe(name)
      else open.push(name)
    }
    expect(open).toEqual([])
  })
})
