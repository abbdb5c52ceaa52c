/** What is drawn: timelines in a terminal, and a page that needs no other file. */
import { expect, test } from 'vitest'
import {
  drawTimeline,
  LANGUAGES,
  onOneScale,
  pageOf,
  say,
  textsOf,
  type LabReport,
  type OversellRow,
} from '../dist/index.js'

const timeline = {
  lanes: ['A', 'B'],
  spans: [
    { lane: 'A', kind: 'holds', fromMs: 0, toMs: 500, label: '<7>' },
    { lane: 'B', kind: 'waits', fromMs: 0, toMs: 1000 },
    { lane: 'A', kind: 'believes', fromMs: 800 },
  ],
  marks: [{ lane: 'A', atMs: 500, event: 'kill' }],
  endMs: 1000,
} as const

const row: OversellRow = {
  strategy: 'no-lock',
  sound: false,
  shop: 'sqlite',
  trouble: 'crowd',
  sold: 23,
  oversold: 3,
  lostUpdates: 0,
  unserved: 0,
  stuck: false,
  blocked: false,
  ms: 10,
  ordersPerSecond: 900,
  p99Ms: 4,
  damaged: true,
}
const soundRow: OversellRow = {
  ...row,
  strategy: 'holdfast-embedded',
  sound: true,
  oversold: 0,
  ordersPerSecond: 60,
  damaged: false,
}

export const report: LabReport = {
  language: 'en',
  madeAt: '2026-01-02T03:04:05.000Z',
  oversell: {
    settings: { items: 20, buyers: 100, processes: 4, segments: 4, thinkMs: 5, strategies: [] },
    rows: [row, soundRow],
    leftOut: [{ strategy: 'holdfast-redis', missing: 'redis' }],
  },
  ladder: {
    steps: [
      {
        fault: 'v1-setnx',
        asExpected: true,
        broken: { subject: 'v1-setnx', broke: true, timeline },
        cured: { subject: 'v2-setnx-expire', broke: false, timeline },
      },
    ],
  },
  everyday: [
    {
      scenario: 'payment',
      without: { damage: 2, done: 3, ms: 90 },
      withLock: { damage: 0, done: 1, ms: 400 },
      asExpected: true,
    },
  ],
  choice: {
    answers: { machines: 'several', have: [], cost: 'annoyance', heat: 'hot' },
    recommendation: { store: 'redis', reasons: ['small'], cautions: ['redis-loses'] },
    figures: [
      {
        store: 'redlock',
        pairsPerSecond: 9000,
        queue: false,
        handOffP50Ms: 1,
        handOffP99Ms: 3,
        failOverMs: 2000,
      },
    ],
    unmeasured: [],
  },
  leftOut: [{ service: 'etcd', command: 'apt-get install -y etcd-server' }],
}

/** The words of a page, with a bar where a tag stood. */
function wordsOf(page: string): string {
  return page
    .slice(page.indexOf('<body>'))
    .replaceAll(/<[^>]*>/g, '|')
    .replaceAll(/\s+/g, ' ')
}

test('a timeline has a line for each lane, a time axis, and its marks below', () => {
  expect(drawTimeline(timeline, textsOf('en'), 11)).toBe(
    ['A  █████▼  ▓▓▓', 'B  ···········', '   0 s  1.00 s', '   ▼ 0.50 s  A: kill -9'].join('\n'),
  )
})

test('the page loads nothing from elsewhere, and shows text as text', () => {
  const page = pageOf(report)
  expect(page).not.toMatch(/(?:src|href)=|url\(|@import|<script/)
  expect(page).toContain('&lt;7&gt;')
  expect(page).not.toContain('<7>')
  expect(page.match(/class="timeline"/g)).toHaveLength(2)
  expect(wordsOf(page)).not.toContain('`')
})

test('two timelines on one scale have the length of the longer, and a story keeps its own end', () => {
  const short = { ...timeline, endMs: 900 }
  const [first, second] = onOneScale(short, { ...timeline, endMs: 2000 })
  expect([first.endMs, second.endMs]).toEqual([2000, 2000])
  expect(first.spans.map(({ toMs }) => toMs)).toEqual([500, 1000, 900])
  expect(second.spans.at(-1)?.toMs).toBe(2000)
})

test('the page shows whether a store has a queue', () => {
  expect(wordsOf(pageOf(report))).toMatch(/\|queue\|[^]*\|redlock\|[ |]*no\|/)
})

test.each(LANGUAGES)('the page in %s says why a store was not measured', (language) => {
  const why = say(language, { key: 'tooSlow', values: { seconds: 30 } })
  const { choice } = report
  const page = pageOf({
    ...report,
    language,
    choice: { ...choice!, unmeasured: [{ store: 'etcd', why }] },
  })
  expect(page).toMatch(/<p>etcd .*30 ?(?:s|秒).*<\/p>/)
})

test('a kept promise is named as such above its mark', () => {
  const words = wordsOf(pageOf({ ...report, language: 'zh' }))
  expect(words).toContain('没有超卖')
  expect(words).not.toMatch(/\|超卖\|/)
})

test('sound strategies stand first, and the speed of broken ones is grey', () => {
  const page = pageOf(report)
  expect(page.indexOf('Holdfast, embedded file')).toBeLessThan(page.indexOf('no lock'))
  expect(page.match(/class="bar (?:sound|broken)"/g)?.slice(0, 2)).toEqual([
    'class="bar sound"',
    'class="bar broken"',
  ])
})

test('each lesson and each lock of the ladder shows its code', () => {
  const page = pageOf(report)
  expect(page.match(/<details>/g)).toHaveLength(4)
  expect(page).toContain('select count(*) as n from orders')
  expect(page).toContain('await redis.call(&#39;EXPIRE&#39;, lock')
})

test('the page names the strategies that were left out', () => {
  expect(wordsOf(pageOf(report))).toContain('Left out: Holdfast, Redis, which needs redis.')
})

test('the Chinese page has full-width punctuation only', () => {
  const page = pageOf({ ...report, language: 'zh' })
  expect(page).toContain('<html lang="zh">')
  expect(page).toContain('Redis 锁的演进')
  const words = wordsOf(page)
  expect(words.match(/.{0,12}\p{Script=Han} ?[,.:;!?()].{0,12}/gu)).toBeNull()
  expect(words.match(/.{0,12}[,.:;!?()] ?\p{Script=Han}.{0,12}/gu)).toBeNull()
})
