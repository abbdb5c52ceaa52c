/** The issue template names each store that has a descriptor. */
import { readFileSync } from 'node:fs'
import { STORE_NAMES } from '@holdfast/stores'
import { expect, test } from 'vitest'

test('the issue template offers each store', () => {
  const template = readFileSync('.github/ISSUE_TEMPLATE/bug.yml', 'utf8')
  const list = /id: store\n.*?options:\n(?<options>(?: +- [^\n]*\n)+)/s.exec(template)?.groups
    ?.options
  const options = list?.trim().toLowerCase().split('\n') ?? []
  const offered = STORE_NAMES.filter((name) =>
    options.some((option) => name.split('-').every((word) => option.includes(word))),
  )
  expect(offered).toEqual(STORE_NAMES)
  expect(options).toHaveLength(STORE_NAMES.length)
})
