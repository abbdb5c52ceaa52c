import { configDefaults, defineConfig, type ViteUserConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longest-first.js'
import { atATime, COMPUTING, leftOut, OWN_PROCESS, planOf, testFiles } from './test/support/plan.js'

const plan = planOf()
const left = leftOut(plan)
for (const { reason, files, parts = [] } of left) {
  console.log(`HOLDFAST_TEST=${plan} leaves out ${[...files, ...parts].join(', ')}: ${reason}`)
}
const chosen = testFiles(plan)
const exclude = [...configDefaults.exclude, ...left.flatMap(({ files }) => files)]

const shared: ViteUserConfig['test'] = {
  // The defaults are too short for servers and processes on a busy machine: a test that starts a
  // dozen processes took a minute there.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 10_000 } },
  // A flaky test is a bug: no test is repeated.
  retry: 0,
  // Files share processes, since the start of one takes a third of a second of a processor. They do
  // not share modules: test/support/own-modules.ts.
  isolate: false,
  ...atATime(plan),
  // Node itself loads the built packages, and broken copies of them: users get the same, and it
  // takes less time.
  server: { deps: { external: [/\/dist\//, /\/holdfast-mutation-/] } },
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/memory-folder.ts'],
    reporters: ['default'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'computing',
          // What the others leave is a few percent while they are busy, and less than 12 seconds of
          // work took three minutes. The limit is for a test that does not end.
          testTimeout: 900_000,
          hookTimeout: 900_000,
          include: [...chosen.computing],
          exclude,
          setupFiles: ['test/support/low-priority.ts', 'test/support/own-modules.ts'],
        },
      },
      {
        test: {
          ...shared,
          name: 'waiting',
          include: [...chosen.waiting],
          exclude: [...exclude, ...COMPUTING, ...OWN_PROCESS],
          setupFiles: ['test/support/own-modules.ts'],
        },
      },
      {
        test: {
          ...shared,
          name: 'own process',
          include: [...chosen.ownProcess],
          exclude,
          isolate: true,
        },
      },
    ],
  },
})
