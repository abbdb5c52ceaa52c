import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { STORE_NAMES } from '@holdfast/stores'
import { expect, test } from 'vitest'
import { STORES } from '../dist/index.js'

interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>
}

/** A store in the memory of one process is no choice among processes. */
const OF_ONE_PROCESS = 'memory'

test('the lab plays on each exported store', () => {
  const file = readFileSync(join(import.meta.dirname, '../../holdfast/package.json'), 'utf8')
  const { exports } = JSON.parse(file) as Manifest
  const exported = STORE_NAMES.filter((name) => Object.hasOwn(exports, `./${name}`))
  const expected = exported.filter((name) => name !== OF_ONE_PROCESS)
  expect([...STORES].toSorted()).toEqual(expected.toSorted())
})
