/** Prose in a terminal. */
import { expect, test } from 'vitest'
import { fold } from '../../../dist/cli/output/fold.js'
import { displayWidth } from '../../../dist/cli/output/table.js'

test('breaks between words, behind the mark of a list', () => {
  expect(fold('- no lock: Each buyer counts the orders.', 20)).toEqual([
    '- no lock: Each',
    '  buyer counts the',
    '  orders.',
  ])
})

test('breaks Chinese between characters, and keeps punctuation with its character', () => {
  const text = '持有者被杀，那一行（唯一键）还在，商店卡死 100 次。'
  const lines = fold(text, 10)
  expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
  for (const line of lines) {
    expect(displayWidth(line)).toBeLessThanOrEqual(10)
    expect(line).not.toMatch(/^[，）。]|（$/)
  }
})

test('breaks a word that is longer than the line', () => {
  expect(fold('see https://example.org', 12)).toEqual(['see', 'https://exam', 'ple.org'])
})

test('leaves a line that fits as it is', () => {
  expect(fold('  a   b', 7)).toEqual(['  a   b'])
})
