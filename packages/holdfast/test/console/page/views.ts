/** Scripted views: what a console's server sends in each situation that the page has to show. */
import type {
  ConsoleView,
  CycleMember,
  HolderView,
  LockView,
  OwnerView,
  Row,
  WaiterView,
} from '../../../dist/console/view.js'

/** 3:07 at night, when such a page is opened. */
export const NOW_MS = Date.UTC(2026, 10, 28, 3, 7, 12)
const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

export function owner(host: string, pid: number, label?: string): OwnerView {
  return { host, pid, ...(label !== undefined && { label }) }
}

let claims = 0

function claimId(): string {
  claims += 1
  return `c${claims.toString(16).padStart(7, '0')}-4be1-4a52-9f0e-0d6d2c61b7aa`
}

export function holder(
  of: OwnerView,
  heldMs: number,
  change: Partial<HolderView> = {},
): HolderView {
  return {
    claimId: claimId(),
    owner: of,
    token: String(4_000 + claims),
    heldMs,
    remainingMs: 22 * SECOND,
    ttlMs: 30 * SECOND,
    isStolen: false,
    isLate: false,
    ...change,
  }
}

export function waiter(of: OwnerView, waitedMs: number, holds?: string[]): WaiterView {
  return { claimId: claimId(), owner: of, waitedMs, ...(holds && { holds }) }
}

export function row(lock: string, holders: HolderView[], change: Partial<Row> = {}): Row {
  return {
    lock,
    kind: 'mutex',
    holders,
    holderCount: holders.length,
    waiterCount: 0,
    marks: [],
    ageMs: 400,
    ...change,
  }
}

const HOSTS = ['web-1', 'web-2', 'web-3', 'batch-1', 'batch-2']

function manyRows(count: number): Row[] {
  return Array.from({ length: count }, (_, index) =>
    row(
      `shop:customer:${10_000 + index}`,
      [
        holder(
          owner(HOSTS[index % HOSTS.length] ?? '', 4_000 + (index % 40), 'worker'),
          5 * SECOND + ((index * 977) % (9 * MINUTE)),
          { remainingMs: 4 * SECOND + ((index * 577) % (25 * SECOND)) },
        ),
      ],
      { ageMs: index % 7 === 0 ? 48 * SECOND : 900 },
    ),
  )
}

function wave(from: number, by: number, points = 90): number[] {
  return Array.from({ length: points }, (_, index) =>
    Math.round(from + by * Math.sin(index / 9) + by * 0.2 * Math.sin(index * 1.7)),
  )
}

const LINES: ConsoleView['lines'] = {
  sinceMs: 3 * MINUTE,
  locks: wave(320, 6),
  waiters: wave(3, 2).map((value) => Math.max(0, value)),
  oldestWaitMs: wave(800, 700).map((value) => Math.max(0, value)),
  latencyMs: wave(6, 2),
}

/** Nothing is wrong: 320 locks, few of which anything waits for. */
export function quietView(rows: Row[] = quietRows()): ConsoleView {
  return {
    nowMs: NOW_MS,
    title: 'Holdfast',
    environment: 'production',
    user: 'mara@ops-2',
    may: ['look', 'steal'],
    stores: ['redis'],
    store: {
      name: 'redis',
      kind: 'redis',
      address: 'redis://cache-1.internal:6379/0',
      state: 'ok',
      latencyMs: 6,
      ageMs: 0,
    },
    totals: {
      locks: rows.length,
      holders: rows.reduce((sum, { holderCount }) => sum + holderCount, 0),
      waiters: rows.reduce((sum, { waiterCount }) => sum + waiterCount, 0),
      oldestWaitMs: Math.max(0, ...rows.map(({ oldestWaitMs = 0 }) => oldestWaitMs)),
      isComplete: true,
      walkMs: 48 * SECOND,
    },
    lines: LINES,
    trouble: [],
    table: { sort: 'wait', search: '', offset: 0, total: rows.length, rows },
    elections: [
      {
        lock: 'shop:cron:invoices',
        leader: holder({ ...owner('batch-1', 812, 'scheduler'), isElection: true }, 9 * 24 * HOUR),
        candidates: 2,
      },
      {
        lock: 'shop:cron:cleanup',
        leader: holder({ ...owner('batch-2', 806, 'scheduler'), isElection: true }, 26 * HOUR),
        candidates: 2,
      },
    ],
    actions: [
      {
        atMs: NOW_MS - 34 * MINUTE,
        user: 'jo@ops-1',
        store: 'redis',
        action: 'steal',
        lock: 'shop:report:daily',
        claimId: 'c00000aa',
        reason: 'worker hangs in a call to the mail server',
        outcome: 'stolen',
        freeInMs: 24 * SECOND,
      },
      {
        atMs: NOW_MS - 41 * MINUTE,
        user: 'kim@ops-1',
        store: 'redis',
        action: 'steal-now',
        lock: 'shop:report:daily',
        claimId: 'c00000ab',
        reason: 'trying',
        outcome: 'refused',
        text: 'kim may only look.',
      },
    ],
    refreshMs: 2_000,
    waitWarnMs: 30 * SECOND,
  }
}

function quietRows(): Row[] {
  const waits = [1_800, 900, 400].map((oldestWaitMs, index) =>
    row(
      `shop:order:${4_410 + index}`,
      [holder(owner('web-2', 4_121, `checkout ${index + 1}`), 600)],
      { waiterCount: 3 - index, oldestWaitMs },
    ),
  )
  return [...waits, ...manyRows(317)]
}

const TRANSFER = owner('web-3', 12_456, 'transfer 1→2')
const BACK = owner('web-1', 12_457, 'transfer 2→b9')
const BILLING = owner('batch-2', 12_458, 'billing close')

/** The first member stands still, so the second lock has no waiter. */
export const CYCLE: readonly CycleMember[] = [
  {
    ...{ lock: 'shop:account:1', owner: TRANSFER, heldMs: 4 * MINUTE + 41 * SECOND },
    ...{ claimId: 'd1', isSilent: true },
  },
  { lock: 'shop:account:2', owner: BACK, heldMs: 4 * MINUTE + 40 * SECOND, claimId: 'd2' },
  { lock: 'shop:billing:9', owner: BILLING, heldMs: 4 * MINUTE + 41 * SECOND, claimId: 'd3' },
]

const HANGING = holder(owner('web-2', 9_924, 'import feed'), 5 * MINUTE, {
  remainingMs: 9 * SECOND,
  isLate: true,
})
export const IN_THE_WAY = holder(owner('batch-1', 9_925, 'export'), 96 * SECOND)
const ASKED_TO_GO = holder(owner('web-1', 8_110, 'sync prices'), 11 * MINUTE, {
  isStolen: true,
  stealReason: 'jo@ops-1: hangs since the deploy',
  remainingMs: 17 * SECOND,
})

function stuckHolder(of: OwnerView, heldMs: number): HolderView {
  return holder(of, heldMs, { remainingMs: 55 * MINUTE, ttlMs: HOUR })
}

function troubleRows(): Row[] {
  const hot = [48, 44, 43, 43, 42, 39].map((seconds, index) =>
    row(`shop:order:hot-${index}`, [index === 0 ? IN_THE_WAY : holder(BACK, 3_000)], {
      waiterCount: 9,
      oldestWaitMs: seconds * SECOND,
      marks: ['old-waiters'],
    }),
  )
  const cycle = CYCLE.map(({ lock, owner: of, heldMs }) =>
    row(lock, [stuckHolder(of, heldMs)], {
      ...(lock === 'shop:account:2'
        ? { silentCount: 1, marks: ['deadlock'] }
        : {
            waiterCount: 1,
            oldestWaitMs: heldMs - 2_000,
            marks: ['deadlock', 'old-waiters'],
          }),
    }),
  )
  const others = [
    row('shop:feed:import', [HANGING], { marks: ['late-renewal'] }),
    row('shop:prices', [ASKED_TO_GO], {
      marks: ['stolen-but-held'],
      waiterCount: 2,
      oldestWaitMs: 21_000,
    }),
    row('shop:downloads', [holder(TRANSFER, 4_000), holder(BACK, 2_000), holder(BILLING, 900)], {
      kind: 'semaphore',
      holderCount: 12,
    }),
  ]
  return [...cycle, ...hot, ...others, ...manyRows(2_008)]
}

/** Each kind of trouble at once. */
export function troubleView(): ConsoleView {
  const rows = troubleRows()
  const quiet = quietView(rows)
  return {
    ...quiet,
    lines: {
      ...LINES,
      oldestWaitMs: wave(800, 700).map(
        (value, index) => Math.max(0, value) + Math.max(0, index - 40) * 5_600,
      ),
    },
    trouble: [
      { kind: 'deadlock', cycle: CYCLE, isResolved: false, seenMs: 0 },
      { kind: 'late-renewal', lock: 'shop:feed:import', holder: HANGING },
      ...rows
        .filter(({ lock }) => lock.includes(':hot-'))
        .map(({ lock, waiterCount, oldestWaitMs, holders: [inTheWay] }) => ({
          kind: 'old-waiters' as const,
          lock,
          waiters: waiterCount,
          oldestMs: oldestWaitMs ?? 0,
          ...(inTheWay && { inTheWay }),
        })),
      { kind: 'stolen-but-held', lock: 'shop:prices', holder: ASKED_TO_GO },
      { kind: 'no-leader', lock: 'shop:cron:mails', candidates: 3, sinceMs: 50 * SECOND },
      { kind: 'store-slow', sinceMs: 12 * SECOND, latencyMs: 840 },
    ],
    elections: [...quiet.elections, { lock: 'shop:cron:mails', candidates: 3 }],
    store: { ...quiet.store, state: 'slow', latencyMs: 840, sinceMs: 12 * SECOND },
  }
}

/** One lock of the trouble, with a queue, a chain and a history. */
export function hotLock(lock = 'shop:order:hot-0'): LockView {
  return {
    lock,
    kind: 'mutex',
    isFree: false,
    holders: [IN_THE_WAY],
    waiters: Array.from({ length: 9 }, (_, index) =>
      waiter(
        owner(HOSTS[index % 3] ?? '', 4_100 + index, `checkout ${index + 1}`),
        48 * SECOND - index * 2_300,
        index === 1 ? ['shop:customer:10003', 'shop:cart:88'] : undefined,
      ),
    ),
    waiterCount: 40,
    localWaiters: 31,
    lastToken: '4711',
    ageMs: 0,
    commands: [
      { about: 'inspect', command: `holdfast inspect '${lock}'` },
      { about: 'watch', command: `holdfast watch '${lock}'` },
      {
        about: 'steal',
        command: `holdfast steal '${lock}' --claim ${IN_THE_WAY.claimId} --reason '…'`,
      },
      { about: 'doctor', command: 'holdfast doctor' },
    ],
    chain: [
      { lock, owner: IN_THE_WAY.owner, heldMs: 96 * SECOND },
      { lock: 'shop:stock:7', owner: owner('web-2', 7_003, 'restock'), heldMs: 3 * MINUTE },
    ],
    history: [
      { atMs: NOW_MS - 96 * SECOND, what: 'granted', owner: IN_THE_WAY.owner, token: '4711' },
      { atMs: NOW_MS - 97 * SECOND, what: 'ended', owner: owner('web-2', 4_121, 'checkout 4') },
      {
        atMs: NOW_MS - 5 * MINUTE,
        what: 'stolen',
        owner: owner('web-1', 4_100, 'checkout 1'),
        text: 'jo@ops-1: hangs since the deploy',
      },
      {
        atMs: NOW_MS - 6 * MINUTE,
        what: 'granted',
        owner: owner('web-1', 4_100, 'checkout 1'),
        token: '4698',
      },
    ],
    historySinceMs: 52 * MINUTE,
  }
}

/** The lock of the deadlock for which the process that stands still waits. */
export function stuckLock(): LockView {
  const [first, second, third] = CYCLE
  if (!first || !second || !third) throw new Error('The cycle has three members.')
  return {
    lock: second.lock,
    kind: 'mutex',
    isFree: false,
    holders: [stuckHolder(second.owner, second.heldMs)],
    waiters: [],
    waiterCount: 0,
    silentWaiters: [{ owner: first.owner, holds: [first.lock], renewedMs: 5 * MINUTE }],
    lastToken: '4712',
    ageMs: 0,
    commands: [{ about: 'inspect', command: `holdfast inspect '${second.lock}'` }],
    chain: [second, third, first],
    history: [],
    historySinceMs: 52 * MINUTE,
  }
}

/** The store is away: the view is the last look, with what `doctor` finds. */
export function awayView(): ConsoleView {
  const quiet = quietView()
  return {
    ...quiet,
    store: {
      ...quiet.store,
      state: 'away',
      sinceMs: 3 * MINUTE,
      ageMs: 3 * MINUTE,
      error: {
        code: 'STORE_UNAVAILABLE',
        message: 'connect ECONNREFUSED 10.0.4.17:6379',
      },
      findings: [
        { isFine: true, text: 'The address cache-1.internal resolves to 10.0.4.17.' },
        {
          isFine: false,
          text: 'Nothing listens on 10.0.4.17 port 6379.',
          advice: 'Start the server, or correct the address.',
        },
      ],
    },
    trouble: [{ kind: 'store-away', sinceMs: 3 * MINUTE }],
  }
}

/** No lock at all. */
export function emptyView(): ConsoleView {
  const quiet = quietView([])
  return { ...quiet, elections: [], actions: [] }
}

/** The first walk over all names has not ended. */
export function incompleteView(): ConsoleView {
  const quiet = quietView()
  return { ...quiet, totals: { ...quiet.totals, isComplete: false } }
}

export function largeView(): ConsoleView {
  return quietView(manyRows(10_000))
}

/** Names that want to be markup, to run, or to read as another name. */
export const HOSTILE: readonly string[] = [
  '<img src=x onerror=alert(1)>',
  '</script><script>document.title="owned"</script>',
  'a\u202egpj.exe',
  '\u2066shop\u2069:\u200border',
  'line\nbreak\ttab\u0000null',
  '$(touch /tmp/owned):`id`',
  'عربي:مفتاح:1',
  'very-long-'.repeat(60),
  'javascript:alert(1)',
  '"><style>body{display:none}</style>',
  'shop:\u00a0order',
  '😀:👩‍👩‍👧:é',
]

export function hostileView(): ConsoleView {
  const rows = HOSTILE.map((name, index) =>
    row(name, [holder(owner(name, index, name), 4_000, { isLate: true })], {
      waiterCount: 2,
      oldestWaitMs: 1_000,
      marks: ['late-renewal'],
    }),
  )
  const [first, second] = HOSTILE
  return {
    ...quietView(rows),
    title: first ?? '',
    environment: second ?? '',
    user: first ?? '',
    trouble: [
      {
        kind: 'deadlock',
        cycle: HOSTILE.map((lock, index) => ({ lock, owner: owner(lock, index, lock), heldMs: 1 })),
        isResolved: false,
        seenMs: 0,
      },
      ...rows.flatMap(({ lock, holders: [late] }) =>
        late ? [{ kind: 'late-renewal' as const, lock, holder: late }] : [],
      ),
    ],
  }
}
