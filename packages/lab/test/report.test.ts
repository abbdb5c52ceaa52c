/** What is drawn: timelines in a terminal, and a page that needs nothing else. */
import { drawTimeline, pageOf, type LabReport } from '../dist/index.js'
import { expect, test } from 'vitest'

const timeline = {
  lanes: ['A', 'B'],
  spans: [
    { lane: 'A', kind: 'holds', fromMs: 0, toMs: 500, label: '<7>' },
    { lane: 'B', kind: 'waits', fromMs: 0, toMs: 1000 },
    { lane: 'A', kind: 'believes', fromMs: 800 },
  ],
  marks: [{ lane: 'A', atMs: 500, text: 'kill -9 & co' }],
  endMs: 1000,
} as const

const report: LabReport = {
  language: 'en',
  madeAt: '2026-01-02T03:04:05.000Z',
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
  leftOut: [{ service: 'etcd', command: 'apt-get install -y etcd-server' }],
}

test('a timeline has a line for each lane, and its marks below', () => {
  expect(drawTimeline(timeline, 11)).toBe(
    ['A  █████✗  ▓▓▓', 'B  ···········', '   ✗ 0.50 s  A: kill -9 & co'].join('\n'),
  )
})

test('the page loads nothing from elsewhere, and shows text as text', () => {
  const page = pageOf(report)
  expect(page).not.toMatch(/(?:src|href)=|url\(|@import|<script/)
  expect(page).toContain('kill -9 &amp; co')
  expect(page).toContain('&lt;7&gt;')
  expect(page).not.toContain('<7>')
  expect(page.match(/<svg/g)).toHaveLength(2)
})

test('the page speaks the language of the report', () => {
  expect(pageOf({ ...report, language: 'zh' })).toContain('<html lang="zh">')
  expect(pageOf({ ...report, language: 'zh' })).toContain('Redis 锁的阶梯')
})
