/** An entry for a library that is not installed, or too old, says how to get it. */
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** Loads an entry where `require` of a library throws or gives something else. */
const PROGRAM = `
  const Module = require('node:module')
  const [entry, call, library, found] = process.argv.slice(1)
  const load = Module._load
  Module._load = function (name, ...rest) {
    if (name !== library) return load.call(this, name, ...rest)
    if (found === 'none') throw new Error('Cannot find module')
    return { createNoopMeter: () => ({}) }
  }
  try {
    require(entry)[call]()
  } catch (error) {
    console.log(error.name + ': ' + error.message)
  }`

function refusal(...args: readonly string[]): string {
  return execFileSync(process.execPath, ['--eval', PROGRAM, ...args], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  }).trim()
}

function noApi(what: string): string {
  return `LockUsageError: holdfast/opentelemetry needs @opentelemetry/api 1.9 or later, which ${what}. Run: npm install @opentelemetry/api`
}

test('OpenTelemetry without its API, and with an old one', () => {
  const args = ['holdfast/opentelemetry', 'instrumentHoldfast', '@opentelemetry/api']
  expect(refusal(...args, 'none')).toBe(noApi('is not installed'))
  expect(refusal(...args, 'old')).toBe(noApi('is too old'))
})

test('holdfastMetrics without prom-client', () => {
  expect(refusal('holdfast/prometheus', 'holdfastMetrics', 'prom-client', 'none')).toBe(
    'LockUsageError: holdfastMetrics needs the package prom-client, which is not installed. Run: npm install prom-client. Or use exportPrometheus, which needs none.',
  )
})
