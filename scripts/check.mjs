/**
 * The whole check: what the tests need, build, types, lint, format, pages, packages, the tests on
 * this Node, and those that a Node's version may change on each other supported Node.
 *
 * `npm run check` and `.ci/run` run it. With `HOLDFAST_TEST=full` (`npm run test:full`) every test
 * runs on each Node, and the tests of every store run on the newest servers. The last line has the
 * sum of all tests.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COUNTS_FILE, formatCounts, sumCounts } from './counts.mjs'
import { testNewestServers } from './newest.mjs'
import { runEach, runSideBySide, runStep, StepFailed } from './steps.mjs'

const NODES = ['20', '22', '24', '26']
const running = process.versions.node.split('.')[0]
const otherNodes = NODES.filter((version) => version !== running)
const plan = process.env.HOLDFAST_TEST ?? 'usual'
/** How many steps without servers run at a time: each keeps a core busy. */
const CORES = 2

const folder = mkdtempSync(join(tmpdir(), 'holdfast-check-'))
const countsFile = join(folder, 'counts')
process.env[COUNTS_FILE] = countsFile
const startedMs = performance.now()

try {
  await runStep(node('what the tests need', 'scripts/needs.mjs'))
  await runStep(npm('build', 'build'))
  await runSideBySide(
    [
      // The longest first.
      npm('format', 'format:check'),
      npm('lint', 'lint'),
      npm('words', 'words'),
      npm('types of the tests', 'check:tests'),
      node('guarantees page', 'verification/torture/dist/page.js', '--check'),
      node('benchmarks page', 'bench/dist/page.js', '--check'),
      node('packages', 'scripts/pack/check.mjs', ...(plan === 'full' ? [] : ['--quick'])),
    ],
    CORES,
  )
  const ownTests = () =>
    runStep({
      ...node(`${plan} tests on Node ${running}`, 'scripts/test.mjs'),
      env: { HOLDFAST_TEST: plan },
    })
  // The exhaustive plan takes hours, so that one failure must not hide what comes behind it. The
  // newest servers come first: some of the other tests need the etcd that is fetched for them.
  if (plan === 'full') await runEach([testNewestServers, ownTests, testOnOtherNodes])
  else {
    await testOnOtherNodes()
    await ownTests()
  }
} catch (error) {
  process.exitCode = 1
  if (!(error instanceof StepFailed)) throw error
  console.error(`\n${error.message}`)
} finally {
  report()
}

/** The npm package `node` carries the binary of each version. */
async function testOnOtherNodes() {
  const elsewhere = plan === 'full' ? 'full' : 'fast'
  const steps = otherNodes.map((version) => ({
    title: `${elsewhere} tests on Node ${version}`,
    command: 'npx',
    args: ['-y', '-p', `node@${version}`, 'node', 'scripts/test.mjs'],
    env: { HOLDFAST_TEST: elsewhere },
  }))
  if (elsewhere === 'fast') await runSideBySide(steps, CORES)
  else await runEach(steps.map((step) => () => runStep(step)))
}

/** @param {string} title @param {string[]} args */
function node(title, ...args) {
  return { title, command: process.execPath, args }
}

/** @param {string} title @param {string} script */
function npm(title, script) {
  return { title, command: 'npm', args: ['run', '--silent', script] }
}

/** A step that is not a test counts as one where it failed: the line must not look green. */
function report() {
  const sum = sumCounts(countsFile)
  rmSync(folder, { recursive: true, force: true })
  if (process.exitCode === 1 && sum.failed === 0) sum.failed = 1
  console.log(`\nThe check (${plan}) took ${minutes(performance.now() - startedMs)} minutes.`)
  console.log(formatCounts(sum))
}

/** @param {number} ms */
function minutes(ms) {
  return (ms / 60_000).toFixed(1)
}
