/**
 * What is broken on purpose turns a run red: the library with one promise taken out, and the locks
 * of `verification/broken-locks/`.
 */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { brokenFilesOf, mutatedCommandLine, MUTATIONS, programOf } from '@holdfast/torture'
import { isFull } from '../support/plan.js'
import { torture } from './support/torture.js'

const full = isFull()
/** The others take minutes, or need luck within a few seconds. */
const USUAL = ['held-without-deadline']
// A run of a busy machine may see none of the moments that show a fault: then the next seed does.
const [SECONDS, MOST_SEEDS] = [10, 8]

/** Runs seeds until one breaks one of the properties, and resolves to all that this seed broke. */
async function brokenBy(
  args: readonly string[],
  shows: readonly string[],
  seconds = SECONDS,
): Promise<string[]> {
  for (let seed = 1; ; seed += 1) {
    const run = await torture(...args, '--seconds', String(seconds), '--seed', String(seed))
    const broken = [...run.stdout.matchAll(/^ {2}(\S+) +BROKEN/gm)].map(
      ([, property = '']) => property,
    )
    expect(run.left, run.stderr.slice(-2000)).toEqual([])
    // Another one may break first: a busy machine lets leases end that are held.
    const isShown = shows.some((property) => broken.includes(property))
    if (isShown || seed === MOST_SEEDS) return broken
  }
}

describe('a mutation', () => {
  // Those that are left to the full plan would go stale unseen.
  test.each(MUTATIONS.map((mutation) => [mutation.name, mutation] as const))(
    '%s fits the code as it is',
    (_name, mutation) => {
      expect(brokenFilesOf(mutation)).not.toEqual(new Map())
    },
  )
})

/** From its bundle it would run unbroken. */
test('a broken copy of the command line runs the parts that were edited', () => {
  const copy = mutatedCommandLine({
    name: 'another-version',
    edits: [
      {
        file: 'dist/cli/main.js',
        find: "(0, node_fs_1.readFileSync)(paths_js_1.MANIFEST, 'utf8')",
        replace: `'{ "version": "broken" }'`,
      },
    ],
  })
  try {
    const shown = spawnSync(process.execPath, [programOf(copy), '--version'], { encoding: 'utf8' })
    expect(shown.stdout, shown.stderr).toBe('broken\n')
    const help = spawnSync(process.execPath, [programOf(copy), 'run', '--help'])
    expect(help.status, String(help.stderr)).toBe(0)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
})

describe.concurrent('a library that is broken on purpose', () => {
  test.for(MUTATIONS.filter(({ name }) => full || USUAL.includes(name)))(
    '$name is caught',
    { timeout: 900_000 },
    async ({ name, of, store, faults, seconds, shows }, { expect: its, skip }) => {
      if (faults.includes('disk-stalled') && process.env['HOLDFAST_NEWEST'] === 'none')
        skip('disk-stalled needs the newest etcd, and HOLDFAST_NEWEST is none')
      const subject = of === 'cli' ? 'command-line' : 'holdfast'
      const what = [
        '--subject',
        subject,
        '--store',
        store,
        '--faults',
        faults.join(),
        '--mutation',
        name,
      ]
      const broken = await brokenBy(what, shows, seconds)
      const shown = broken.filter((property) => (shows as readonly string[]).includes(property))
      its(shown, `broken: ${broken.join(', ')}`).not.toEqual([])
    },
  )
})

describe.concurrent('a broken lock on the real Redis', () => {
  const controls = [
    ['no-watchdog-no-deadline', 'pause', 'exclusion'],
    ...(full ? [['v1-setnx', 'kill', 'liveness'] as const] : []),
    ...(full ? [['v3-plain-del', 'pause', 'exclusion'] as const] : []),
    ...(full ? [['get-then-set', 'none', 'exclusion'] as const] : []),
    ...(full ? [['separate-fence', 'restart-empty', 'tokens'] as const] : []),
  ] as const
  test.for(controls)(
    '%s is caught',
    { timeout: 240_000 },
    async ([id, faults, shows], { expect: its }) => {
      const what = ['--store', 'redis', '--subject', `control:${id}`, '--faults', faults]
      const broken = await brokenBy(what, [shows])
      its(broken).toContain(shows)
    },
  )
})
