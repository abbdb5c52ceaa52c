/** Each strategy shows its code, and that is what the lab runs. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { transformSync } from 'esbuild'
import { SCRIPTS } from '@holdfast/broken-locks'
import { codeOf, codesOf, STRATEGIES } from '../dist/index.js'
import { showStrategies } from '../dist/command/strategies.js'
import { textsOf } from '../dist/text/language.js'

const CODES = STRATEGIES.map(({ id }) => [id, codeOf(id)] as const)
const SOURCES = ['../src/strategies/', '../../../verification/broken-locks/src/locks/']

/** What the strategies run, without the file that shows it. */
const running = SOURCES.flatMap((folder) => {
  const url = new URL(folder, import.meta.url)
  const files = readdirSync(url).filter((file) => file !== 'code.ts')
  return files.map((file) => readFileSync(new URL(file, url), 'utf8'))
}).join('\n')

test.each(CODES)('the code of %s is whole, and fits 80 columns', (_id, code) => {
  expect(code).not.toBe('')
  expect(code.split('\n').filter((line) => line.length > 76)).toEqual([])
  expect(() => transformSync(`async function buy() {\n${code}\n}`, { loader: 'ts' })).not.toThrow()
})

test.each(CODES)('the statements and commands of %s are those that the lab runs', (_id, code) => {
  const joined = code.replaceAll(/' \+\s+'/g, '')
  const statements = joined.match(/'(?:select|update|insert|delete) [^']*'/g) ?? []
  const commands = joined.match(/(?<=redis\.call\()'\w+'(?=, (?:lock|\.\.\.))/g) ?? []
  const columns = running.replaceAll('${column}', 'item') + running.replaceAll('${column}', 'title')
  for (const part of [...statements, ...commands]) {
    const text = part.slice(1, -1)
    expect(columns, part).toContain(text)
  }
  for (const [, name = ''] of code.matchAll(/const ([A-Z_]+) = `/g)) {
    const script = SCRIPTS.find((one) => one.name.toUpperCase().replaceAll('-', '_') === name)
    expect(words(code), name).toContain(words(script?.lua ?? '?'))
  }
})

function words(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ')
}

test('the sale that several strategies share stands once in a list', () => {
  const codes = codesOf(['no-lock', 'local-lock', 'holdfast-embedded'])
  const sales = [...codes.values()].map((code) => code.includes('async function sell'))
  expect(sales).toEqual([false, true, false])
})

test('a strategy that is not known is refused with the nearest name', () => {
  expect(() => showStrategies('no-lok', textsOf('en'), false)).toThrow(
    'The strategy "no-lok" is unknown. Did you mean no-lock?',
  )
})
