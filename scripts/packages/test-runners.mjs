/**
 * Test runners, from the packed package: Jest as NestJS's starter sets it up, Vitest, sinon's
 * timers, and `node:test`. Each runs the tests of docs/guide/testing.md.
 */
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { writeJson } from './files.mjs'
import { install } from './projects.mjs'
import { report, run } from './run.mjs'
import { writeJest, writeNodeTest, writeSinon, writeVitest } from './testing-page.mjs'

/** Other tests, which run under Jest and under Vitest. */
const FIXTURES = join(import.meta.dirname, 'fixtures/jest')
/** What Node before 22.13 needs for the embedded store. */
const SQLITE = '@photostructure/sqlite@1.2.1'

export async function checkTestRunners(folder, tarballs) {
  for (const major of ['29', '30']) await checkJest(folder, tarballs, major)
  const project = await install(folder, 'vitest', [tarballs.holdfast, SQLITE, 'vitest@4', 'sinon'])
  cpSync(FIXTURES, project, { recursive: true })
  writeVitest(project)
  writeSinon(project)
  await run('npx', ['vitest', 'run', '--globals'], { cwd: project })
  report('Vitest, and the timers of sinon')
}

async function checkJest(folder, tarballs, major) {
  const project = await install(folder, `jest-${major}`, [
    tarballs.holdfast,
    SQLITE,
    `jest@${major}`,
    `@types/jest@${major}`,
    'ts-jest@29',
    'typescript@~5.9',
    '@types/node@22',
    // The page has a module that makes its locks over Redis.
    'ioredis',
  ])
  cpSync(FIXTURES, project, { recursive: true })
  writeJest(project)
  writeJson(join(project, 'tsconfig.json'), {
    compilerOptions: { module: 'nodenext', target: 'es2023', strict: true, esModuleInterop: true },
  })
  writeJson(join(project, 'jest.config.json'), {
    testEnvironment: 'node',
    transform: { '^.+\\.ts$': 'ts-jest' },
  })
  await run('npx', ['jest'], { cwd: project })
  report(`Jest ${major} with ts-jest`)
}

/**
 * Runs the test for `node:test` in a project.
 * @param {(args: string[]) => Promise<string>} runNode
 */
export async function checkNodeTest(project, runNode) {
  const folder = join(project, 'node-test')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, await writeNodeTest(folder))
  const printed = await runNode(['--test', '--test-reporter=tap', file])
  if (!/^# pass 1$/m.test(printed)) throw new Error(printed)
}
