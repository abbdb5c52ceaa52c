/**
 * The files of docs/guide/testing.md compile, and their tests pass. scripts/packages runs them with
 * Jest and with sinon as well, from the packed package.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeNodeTest, writeVitest } from '../../scripts/packages/testing-page.mjs'
import { ROOT } from './samples/blocks.js'

/** In the repository, whose packages the files import. */
const folder = join(ROOT, `build/testing-page-${process.pid}`)
const run = promisify(execFile)

/** Without what names this worker of Vitest, or a test of Node around it. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_TEST)/.test(name)),
)

beforeAll(() => {
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules/ioredis6'), join(folder, 'node_modules/ioredis'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'vitest.config.mjs'), 'export default {}')
  writeVitest(folder)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the files compile', async () => {
  const options = { module: 'preserve', target: 'es2023', lib: ['es2023', 'esnext.disposable'] }
  const checks = { strict: true, skipLibCheck: true, noEmit: true, types: ['node'] }
  const config = { compilerOptions: { ...options, ...checks }, include: ['**/*.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  expect(await outputOf(compiler, '-p', folder)).toBe('')
})

test('the tests pass with Vitest', async () => {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const report = await outputOf(vitest, 'run', '--config=vitest.config.mjs', '--reporter=json')
  expect(JSON.parse(report)).toMatchObject({ success: true, numPassedTests: 10 })
})

test('the test passes with node:test', async () => {
  mkdirSync(join(folder, 'node'))
  const file = join('node', await writeNodeTest(join(folder, 'node')))
  expect(await outputOf('--test', '--test-reporter=tap', file)).toMatch(/^# pass 1$/m)
})

/** Returns what Node printed, also where it failed. */
async function outputOf(...args: readonly string[]): Promise<string> {
  const ran = await run(process.execPath, args, { cwd: folder, env }).catch(
    (error: { readonly stdout: string }) => error,
  )
  return ran.stdout
}
