import { configDefaults, defineConfig } from 'vitest/config'
import { leftOut, planOf } from './test/support/plan.js'

const plan = planOf()
const left = leftOut(plan)
for (const { reason, files } of left) {
  console.log(`HOLDFAST_TEST=${plan} leaves out ${files.join(', ')}: ${reason}`)
}

export default defineConfig({
  test: {
    include: ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...left.flatMap(({ files }) => files)],
    // The defaults are no bounds for what a busy machine does with servers and processes: a case
    // that starts ten programs beside servers under torture took 20 s.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    // A flaky test is a bug: nothing is tried twice.
    retry: 0,
    globalSetup: ['test/support/memory-folder.ts'],
    // Two cores; tests start processes and servers of their own.
    maxWorkers: 2,
    // Of the cases of the conformance suite, which mostly wait.
    maxConcurrency: 8,
    reporters: ['default'],
    // The built packages, and broken copies of them, run as Node itself loads them: that is what
    // users get, and faster.
    server: { deps: { external: [/\/dist\//, /\/holdfast-mutation-/] } },
  },
})
