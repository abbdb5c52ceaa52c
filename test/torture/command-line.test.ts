/**
 * The command line under torture: what excuses an overlap and what does not, and a short run of the
 * real thing.
 */
import {
  Chronicle,
  innerRunsOf,
  judgeCommandLine,
  type Blow,
  type Line,
  type RunRecord,
  type RunWish,
  type WitnessedOutcome,
} from '@holdfast/torture'
import { describe, expect, test } from 'vitest'
import { torture } from './support/torture.js'

const MS = 1_000_000n
const at = (ms: number): bigint => BigInt(ms) * MS

interface Sketch {
  readonly wish?: Partial<RunWish>
  readonly fromMs: number
  /** Missing: it did not end. */
  readonly toMs?: number
  readonly code?: number
  readonly signal?: NodeJS.Signals
  readonly output?: string
  readonly blows?: readonly Blow[]
}

const WISH: RunWish = {
  lock: 'mutex',
  shared: false,
  holdMs: 100,
  temper: 'plain',
  code: 0,
  waitMs: undefined,
}

let pids = 100

function run(
  id: string,
  { wish, fromMs, toMs, code = 0, signal, output = '', blows = [] }: Sketch,
): RunRecord {
  const ended =
    toMs === undefined
      ? {}
      : { endNs: at(toMs), code: signal ? null : code, signal: signal ?? null }
  return {
    id,
    wish: { ...WISH, ...wish },
    pid: ++pids,
    startNs: at(fromMs),
    ...ended,
    output,
    blows: [...blows],
  }
}

function line(
  atMs: number,
  kind: Line['kind'],
  id: string,
  token: number,
  pid: number,
  rest = '',
): Line {
  return { atNs: at(atMs), kind, run: id, token: BigInt(token), pid, rest }
}

function kill(part: Blow['part'], ms: number): Blow {
  return { part, what: 'kill', startNs: at(ms) }
}

function stop(part: Blow['part'], fromMs: number, toMs: number): Blow {
  return { part, what: 'stop', startNs: at(fromMs), endNs: at(toMs) }
}

type Kinds = Parameters<typeof judgeCommandLine>[0]['kinds']

function judged(
  runs: readonly RunRecord[],
  lines: readonly Line[],
  rest: { kinds?: Kinds; chronicle?: Chronicle; leftOver?: readonly string[] } = {},
) {
  const { kinds = [], chronicle = new Chronicle(), leftOver = [] } = rest
  const outcome: WitnessedOutcome = {
    plan: [],
    chronicle,
    events: [],
    notes: [],
    startNs: 0n,
    healedNs: at(10_000),
    watchedNs: at(60_000),
    ghosts: [],
    witnessed: { runs, lines, leftOver },
  }
  const { findings, verdicts } = judgeCommandLine({ store: 'redis', kinds }, outcome)
  return {
    findings: findings.map(
      ({ kind, promised, message }) => `${promised ? 'broken' : 'seen'} ${kind}: ${message}`,
    ),
    broken: verdicts.filter(({ outcome: one }) => one === 'broken').map(({ property }) => property),
  }
}

/** B finds the file taken at 3000 ms, by the command of A. */
function overlap(blows: readonly Blow[], ofLate: readonly Blow[] = [], groups = '11,') {
  const signal = blows.some(({ part, what }) => part === 'wrapper' && what === 'kill')
    ? 'SIGKILL'
    : undefined
  const runs = [
    run('A', { fromMs: 0, toMs: 3600, code: 74, ...(signal ? { signal } : {}), blows }),
    run('B', { fromMs: 100, toMs: 3100, code: 99, blows: ofLate }),
  ]
  return [runs, [line(50, 'ENTER', 'A', 1, 11), line(3000, 'OVERLAP', 'B', 2, 12, groups)]] as const
}

function flushedAt(ms: number): Chronicle {
  const chronicle = new Chronicle()
  const fault = { kind: 'flush', atMs: 0, forMs: 0, client: 0, server: 0, byMs: 0 } as const
  chronicle.happenings.push({ fault, startNs: at(ms), endNs: at(ms) })
  return chronicle
}

/** A enters with the larger token, and is gone when B enters. */
function two(shared: boolean, secondFromMs: number): readonly [RunRecord[], Line[]] {
  const wish = { lock: 'shared', shared } as const
  const runs = [
    run('A', { wish, fromMs: 0, toMs: 200 }),
    run('B', { wish, fromMs: secondFromMs, toMs: 600 }),
  ]
  return [
    runs,
    [
      line(100, 'ENTER', 'A', 7, 11),
      line(190, 'EXIT', 'A', 7, 11, '0'),
      line(500, 'ENTER', 'B', 6, 12),
      line(590, 'EXIT', 'B', 6, 12, '0'),
    ],
  ]
}

describe('an overlap', () => {
  test('names a holder that ended while the refused command looked for it', () => {
    const [runs, [entered, refused]] = overlap(
      [kill('wrapper', 500), kill('guardian', 500)],
      [],
      '',
    )
    const { broken, findings } = judged(runs, [entered, line(3050, 'EXIT', 'A', 1, 11), refused])
    expect(broken).toEqual([])
    expect(findings[0]).toContain('beside A. The wrapper and the guardian of run A')
  })

  test.each([
    [
      'wrapper and guardian of the holder were killed',
      [kill('wrapper', 500), kill('guardian', 500)],
    ],
    ['both were stopped at that moment', [stop('wrapper', 500, 3500), stop('guardian', 600, 3500)]],
    ['one was killed and the other stopped', [kill('wrapper', 500), stop('guardian', 600, 3500)]],
    ['both were woken just before', [stop('wrapper', 500, 2900), stop('guardian', 600, 2950)]],
  ])('is excused when %s', (_title, blows) => {
    const { findings, broken } = judged(...overlap(blows))
    expect(findings).toEqual([
      'seen exclusion: Run B entered "mutex" beside A. The wrapper and the guardian of run A were all killed or stopped.',
    ])
    expect(broken).toEqual([])
  })

  test.each([
    ['nothing was done', []],
    ['only the wrapper was stopped', [stop('wrapper', 500, 3500)]],
    ['only the guardian was killed', [kill('guardian', 500), stop('wrapper', 100, 150)]],
    [
      'only wrapper and command were stopped',
      [stop('wrapper', 500, 3500), stop('command', 500, 3500)],
    ],
    [
      'both were stopped, one after the other',
      [stop('wrapper', 500, 1500), stop('guardian', 1600, 3500)],
    ],
    [
      'both were stopped, and woken long before',
      [stop('wrapper', 500, 2000), stop('guardian', 600, 2000)],
    ],
    ['both were killed later', [kill('wrapper', 3200), kill('guardian', 3200)]],
  ])('is a violation when %s', (_title, blows) => {
    const { findings, broken } = judged(...overlap(blows))
    expect(broken).toContain('exclusion')
    expect(findings.join('\n')).toContain('Nothing that was done to them explains it.')
  })

  test('is a violation when the fault met another run', () => {
    const [runs, lines] = overlap([])
    const other = run('C', {
      wish: { lock: 'shared' },
      fromMs: 0,
      toMs: 600,
      signal: 'SIGKILL',
      blows: [kill('wrapper', 500), kill('guardian', 500)],
    })
    expect(judged([...runs, other], lines).broken).toContain('exclusion')
  })

  test('is excused on the side of the late one only when nothing of it could act', () => {
    const frozen = [
      stop('wrapper', 200, 2990),
      stop('guardian', 200, 2990),
      stop('command', 200, 2990),
    ]
    expect(judged(...overlap([], frozen)).broken).toEqual(['exit-code'])
    // A wrapper that is awake must see that the lease is over, with or without its guardian.
    expect(judged(...overlap([], frozen.slice(0, 2))).broken).toContain('exclusion')
  })

  test('without a name for the holder is excused only if one that may have been it is', () => {
    expect(
      judged(...overlap([kill('wrapper', 500), kill('guardian', 500)], [], '')).broken,
    ).toEqual([])
    expect(judged(...overlap([], [], '')).broken).toContain('exclusion')
  })

  test('is excused for a TTL after the server forgot, for runs from before', () => {
    const kinds: Kinds = ['flush']
    const [runs, lines] = overlap([])
    expect(judged(runs, lines, { kinds, chronicle: flushedAt(2500) }).broken).toEqual([])
    expect(judged(runs, lines, { kinds, chronicle: flushedAt(500) }).broken).toEqual(['exclusion'])
    expect(judged(runs, lines, { kinds, chronicle: flushedAt(3500) }).broken).toEqual(['exclusion'])
  })

  test('of permits is explained by as many excused holders as there are too many', () => {
    const wish = { lock: 'permits' } as const
    const both = [kill('wrapper', 500), kill('guardian', 500)]
    const runsOf = (blows: readonly Blow[]): RunRecord[] => [
      run('A', {
        wish,
        fromMs: 0,
        toMs: 3600,
        ...(blows.length > 0 ? { signal: 'SIGKILL' } : {}),
        blows,
      }),
      run('B', { wish, fromMs: 0, toMs: 3600 }),
      run('C', { wish, fromMs: 0, toMs: 3100, code: 99 }),
    ]
    const lines = [
      line(50, 'ENTER', 'A', 1, 11),
      line(50, 'ENTER', 'B', 2, 12),
      line(3000, 'OVERLAP', 'C', 3, 13, '11,12,'),
      line(3500, 'EXIT', 'B', 2, 12, '0'),
    ]
    expect(judged(runsOf(both), lines).broken).toEqual([])
    expect(judged(runsOf([]), lines).broken).toContain('exclusion')
  })
})

describe('tokens', () => {
  test('must grow between runs that exclude each other, and after one has entered', () => {
    expect(judged(...two(false, 10)).broken).toEqual(['tokens'])
    expect(judged(...two(true, 300)).broken).toEqual(['tokens'])
  })

  test('of readers that were granted together may come in any order', () => {
    expect(judged(...two(true, 10)).broken).toEqual([])
  })
})

describe('an exit code', () => {
  const entered = [line(50, 'ENTER', 'A', 1, 11)]
  const through = [...entered, line(150, 'EXIT', 'A', 1, 11, '7')]
  const signalled: Blow = { part: 'wrapper', what: 'SIGTERM', startNs: at(100) }

  test.each([
    ['the command’s own', through, { code: 7 }],
    ['of a signal to the wrapper', entered, { code: 143, blows: [signalled] }],
    ['of a signal while it waits', [], { code: 143, blows: [signalled] }],
    ['of a command that was killed', entered, { code: 137, blows: [kill('command', 100)] }],
    ['of a loss after a stop', entered, { code: 74, blows: [stop('wrapper', 60, 150)] }],
    ['of a wait that ran out', [], { code: 75, wish: { waitMs: 100 } }],
    ['of a deadlock inside of another run', [], { code: 75, wish: { outer: 'nest-a' } }],
    ['of a start without a guardian', [], { code: 71, blows: [kill('guardian', 40)] }],
    ['of a wrapper that was killed', entered, { signal: 'SIGKILL', blows: [kill('wrapper', 100)] }],
  ] as [string, Line[], Partial<Sketch>][])('%s is as documented', (_title, lines, sketch) => {
    expect(judged([run('A', { fromMs: 0, toMs: 200, ...sketch })], lines).findings).toEqual([])
  })

  test.each([
    ['another than the command’s', through, { code: 0 }],
    ['0 of a command that never entered', [], { code: 0 }],
    ['137 of a command that was not killed', entered, { code: 137 }],
    ['74 without a loss', entered, { code: 74 }],
    ['75 without --wait', [], { code: 75 }],
    ['75 of a run that entered', entered, { code: 75, wish: { waitMs: 100 } }],
    ['69 of a store that was there', [], { code: 69 }],
    ['of a signal that was not sent', entered, { signal: 'SIGKILL' }],
  ] as [string, Line[], Partial<Sketch>][])('%s is a violation', (_title, lines, sketch) => {
    const { broken, findings } = judged([run('A', { fromMs: 0, toMs: 200, ...sketch })], lines)
    expect(broken).toEqual(['exit-code'])
    expect(findings[0]).toContain('The wrapper of run A ended with')
  })
})

test('a run that meets a replaced server first may end as with a wrong URL', () => {
  const chronicle = new Chronicle()
  const fault = {
    kind: 'endpoint-moves',
    atMs: 0,
    forMs: 300,
    client: 0,
    server: 0,
    byMs: 0,
  } as const
  const runs = [run('A', { fromMs: 100, toMs: 200, code: 78 })]
  chronicle.happenings.push({ fault, startNs: at(50), endNs: at(350) })
  expect(judged(runs, [], { chronicle }).findings).toEqual([])
  expect(judged(runs, []).broken).toEqual(['exit-code'])
})

test('a run inside of a run has to end, with a code of its own', () => {
  const wish = { lock: 'nest-a', inner: 'nest-b' } as const
  const hangs = run('A', { wish, fromMs: 0 })
  const entered = line(50, 'ENTER', 'A', 1, 11)
  const inner = innerRunsOf([hangs], [entered])
  expect(inner).toMatchObject([{ id: 'A.in', wish: { lock: 'nest-b', outer: 'nest-a' } }])
  expect(judged([hangs, ...inner], [entered]).broken).toEqual(['liveness'])
  const ends = run('A', { wish, fromMs: 0, toMs: 200, code: 71 })
  const lines = [entered, line(150, 'EXIT', 'A', 1, 11, '71')]
  const { findings } = judged([ends, ...innerRunsOf([ends], lines)], lines)
  expect(findings).toEqual([expect.stringContaining('The wrapper of run A.in ended with 71')])
})

test('a run that does not end, a process that is left, and a stack trace are violations', () => {
  const hangs = run('A', { fromMs: 0 })
  const speaks = run('B', {
    fromMs: 0,
    toMs: 100,
    output: 'holdfast: fine\n    at Object.<anonymous>\n',
  })
  const lines = [line(50, 'ENTER', 'B', 1, 12), line(60, 'EXIT', 'B', 1, 12, '0')]
  const { broken } = judged([hangs, speaks], lines, { leftOver: ['sh guardian.sh'] })
  expect(broken).toEqual(['liveness', 'left-over', 'error'])
})

test(
  'the command line on the embedded store keeps every promise',
  { timeout: 120_000 },
  async () => {
    const args = ['--subject', 'command-line', '--store', 'embedded', '--seconds', '15']
    const { status, stdout, stderr, ...ended } = await torture(...args)
    const broken = stdout.split('\n').filter((text) => /BROKEN|broken/.test(text))
    expect(broken, stderr.slice(-2000)).toEqual([])
    expect(status).toBe(0)
    expect(Number(/(\d+) leases/.exec(stdout)?.[1])).toBeGreaterThan(5)
    expect(ended).toEqual({ left: [], running: [], mounted: [] })
  },
)
