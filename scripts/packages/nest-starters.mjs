/**
 * `@holdfast/nestjs` in projects with the files of Nest's starters: their settings of the compiler
 * and of the test runner. Nest's package of templates has these files.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { readJson, writeJson } from './files.mjs'
import { report, run } from './run.mjs'

const FIXTURES = join(import.meta.dirname, 'fixtures/nestjs')
const VERSIONS = readJson(join(FIXTURES, 'versions.json'))
/** What a starter asks its user for. */
const ANSWERS = { name: 'shop', version: '0.0.1', strict: 'true', specFileSuffix: 'spec' }

/** The companions of Nest that the fixture uses. */
const COMPANIONS = { '@apollo/server': '^5', '@as-integrations/express5': '^1', graphql: '^16' }
/** What a starter has for its developer, and not for its tests. */
const UNUSED =
  /eslint|prettier|oxlint|globals|loader|ts-node|source-map|@nestjs\/(cli|mau|schematics|observe)/

const FIXTURE_TESTS = 8
/** An installation of Nest and Apollo took six minutes on a busy machine. */
const LIMIT_MS = 900_000

/** For a test or a hook: on a busy machine the first application took 15 s. */
const JEST_LIMIT = '--testTimeout=120000'
const VITEST_LIMITS = ['--testTimeout=120000', '--hookTimeout=120000']
const JEST = ['node_modules/jest/bin/jest.js', JEST_LIMIT]
/** Nest 12 is ESM only. Jest can require it from Node 24.9 on; older Nodes have Vitest. */
const JEST_WITH_ESM = ['--experimental-vm-modules', ...JEST]
const STARTERS = [
  { major: '11', files: 'ts', jest: '^29', nodes: ['20'], test: JEST },
  { major: '11', files: 'ts', jest: '^30', nodes: ['20'], test: JEST },
  {
    major: '12',
    files: 'ts-esm',
    nodes: ['22', '24'],
    test: ['node_modules/vitest/vitest.mjs', 'run', ...VITEST_LIMITS],
  },
  { major: '12', files: 'ts', jest: '^30', nodes: ['24'], test: JEST_WITH_ESM },
]

/**
 * Runs the fixture in each starter, on each of its Nodes.
 * @param {string} folder
 * @param {Record<string, string>} tarballs
 */
export async function checkNestStarters(folder, tarballs) {
  for (const [index, starter] of STARTERS.entries()) {
    const project = join(folder, `nest-${index}`)
    const runner = starter.jest === undefined ? 'Vitest 4' : `Jest ${starter.jest.slice(1)}`
    const name = `Nest ${starter.major}, ${runner}`
    await makeProject(folder, project, starter, tarballs)
    await run('npx', ['tsc', '--noEmit', '-p', '.'], { cwd: project })
    report(`${name}: types`)
    for (const node of starter.nodes) {
      const args = ['-y', '-p', `node@${node}`, 'node', ...starter.test]
      const how = { cwd: project, env: { NO_COLOR: '1' }, limitMs: LIMIT_MS }
      report(`${name}, Node ${node}`, `${passedTests(await run('npx', args, how))} tests`)
    }
  }
}

/** Returns the number of passed tests: a runner that finds no files ends well, too. */
function passedTests(printed) {
  const passed = Number(/Tests:?\s+(\d+) passed/.exec(printed)?.[1])
  if (passed >= FIXTURE_TESTS) return passed
  throw new Error(`The fixture has ${FIXTURE_TESTS} tests, and the runner printed:\n${printed}`)
}

/** Makes a project of a starter, adds the fixture, and installs everything. */
async function makeProject(folder, project, { major, files, jest }, tarballs) {
  const versions = VERSIONS[major]
  const templates = await fetchTemplates(folder, versions['@nestjs/schematics'])
  copyTemplates(join(templates, files), project)
  cpSync(join(FIXTURES, 'src'), join(project, 'src'), { recursive: true })
  const path = join(project, 'package.json')
  const { dependencies, devDependencies, ...rest } = readJson(path)
  const runner = jest === undefined ? {} : { jest, '@types/jest': jest }
  writeJson(path, {
    ...rest,
    dependencies: {
      ...withoutUnused({ ...dependencies, ...devDependencies, ...versions, ...runner }),
      ...COMPANIONS,
      holdfast: `file:${tarballs.holdfast}`,
      '@holdfast/nestjs': `file:${tarballs.nestjs}`,
    },
  })
  const install = ['install', '--no-audit', '--no-fund', '--loglevel=error']
  await run('npm', install, { cwd: project, limitMs: LIMIT_MS })
}

function withoutUnused(dependencies) {
  return Object.fromEntries(Object.entries(dependencies).filter(([name]) => !UNUSED.test(name)))
}

/** Returns the folder of the templates of a version, without installing what they need. */
async function fetchTemplates(folder, version) {
  const own = join(folder, `schematics-${version}`)
  if (!existsSync(own)) {
    mkdirSync(own)
    await run('npm', ['pack', '--silent', `@nestjs/schematics@${version}`], { cwd: own })
    const [tarball] = readdirSync(own)
    await run('tar', ['xzf', tarball], { cwd: own })
  }
  return join(own, 'package/dist/lib/application/files')
}

/** Copies the templates, and fills in what the starter asks its user for. */
function copyTemplates(from, to) {
  for (const name of readdirSync(from, { recursive: true })) {
    const source = join(from, name)
    if (!statSync(source).isFile()) continue
    const target = join(
      to,
      name.replace(/__(\w+)__/, (_, key) => ANSWERS[key]),
    )
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, fillIn(readFileSync(source, 'utf8')))
  }
}

function fillIn(template) {
  return template
    .replaceAll(/<% if[^]*?<% } %>/g, '')
    .replaceAll(/<%= (\w+) %>/g, (_, key) => ANSWERS[key] ?? '')
}
