/** The history in docs/internals/history.md. */
import { readFileSync } from 'node:fs'
import { checkHistory, parseHistory } from '@holdfast/conformance'
import { expect, test } from 'vitest'

const page = readFileSync(new URL('../../../../docs/internals/history.md', import.meta.url), 'utf8')

test('the history on the page keeps every promise', () => {
  const example = /```jsonl\n(?<lines>[\s\S]*?)```/.exec(page)?.groups?.['lines'] ?? ''
  const history = parseHistory(example)
  expect(history.length).toBeGreaterThan(10)
  const liveness = { healedNs: 0n, boundNs: 2n ** 60n }
  const promised = {
    held: true,
    truth: true,
    release: true,
    fifo: { inARow: 0 },
    liveness,
    counter: true,
  }
  expect(checkHistory(history, { promised })).toEqual([])
})
