/**
 * The whole check: what the tests need, lint, format, types, packages, tests, and the fast tests on
 * each Node that is supported. `npm run check` and `.ci/run` are this; `npm run test:full` is this
 * with every test on each Node, and with the tests of every store on the newest servers.
 */
import { testNewestServers } from './newest.mjs'
import { step, StepFailed } from './steps.mjs'

const NODES = ['20', '22', '24', '26']
const running = process.versions.node.split('.')[0]
const here = process.env.HOLDFAST_TEST ?? 'usual'
/** What may differ from one Node to the next, unless everything was asked for. */
const elsewhere = here === 'full' ? 'full' : 'fast'

try {
  await step('what the tests need', 'node', ['scripts/needs.mjs'])
  await step('build', 'npm', ['run', '--silent', 'build'])
  await step('types of the tests', 'npm', ['run', '--silent', 'check:tests'])
  await step('lint', 'npm', ['run', '--silent', 'lint'])
  await step('guarantees page', 'node', ['verification/torture/dist/page.js', '--check'])
  await step('benchmarks page', 'node', ['bench/dist/page.js', '--check'])
  await step('format', 'npm', ['run', '--silent', 'format:check'])
  for (const name of ['holdfast', 'cli', 'lab']) {
    await step(`publint ${name}`, 'npx', ['publint', '--strict', `packages/${name}`])
    await step(`types of ${name}, as others see them`, 'npx', [
      'attw',
      '--pack',
      `packages/${name}`,
      '--profile',
      'esm-only',
      ...(name === 'holdfast' ? [] : ['--exclude-entrypoints', '.']),
    ])
  }
  for (const node of NODES.filter((version) => version !== running)) {
    // The npm package `node` carries the binary of each version.
    const command = ['-y', '-p', `node@${node}`, 'node', 'scripts/test.mjs']
    await step(`${elsewhere} tests on Node ${node}`, 'npx', command, { HOLDFAST_TEST: elsewhere })
  }
  if (here === 'full') await testNewestServers()
  await step(`${here} tests on Node ${running}`, 'node', ['scripts/test.mjs'], {
    HOLDFAST_TEST: here,
  })
} catch (error) {
  if (!(error instanceof StepFailed)) throw error
  console.error(`\n${error.message}`)
  process.exitCode = 1
}
