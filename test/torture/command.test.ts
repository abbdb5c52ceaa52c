/**
 * The command line: what it says to nonsense, what is missing, and that an interrupt leaves nothing
 * behind.
 */
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseHistory } from '@holdfast/conformance'
import { afterAll, describe, expect, test } from 'vitest'
import { isFull } from '../support/plan.js'
import { start, torture, WITHOUT_RIGHTS } from './support/torture.js'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-torture-test-'))

const isRoot = process.getuid?.() === 0
/**
 * A server with its proxies; and what else is to be undone: a mount, and a network of the run's
 * own.
 */
const interrupted: readonly (readonly [store: string, faults: string])[] = [
  ['redis', 'promised'],
  ...(isRoot && isFull()
    ? ([
        ['embedded', 'disk-full'],
        ['etcd', 'leader-isolated'],
      ] as const)
    : []),
]

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function plan(seed: string): Promise<string> {
  return (await torture('--store', 'redis', '--seed', seed, '--faults', 'all', '--plan')).stdout
}

describe('the command', () => {
  test.each([
    [['--store', 'nothing'], 'There is no store "nothing". Choose among: memory, embedded, redis'],
    [['--faults', 'rain'], 'There is no fault "rain". Choose among: pause, kill'],
    [
      ['--store', 'embedded', '--faults', 'stall'],
      'The fault stall does not meet the store embedded: there is no server.',
    ],
    [['--seconds', '0'], '--seconds takes a whole number from 1 to 86400, not "0".'],
    [['--seed', 'x'], '--seed takes a whole number from 0 to 4294967296, not "x".'],
    [['--mutation', 'none'], 'There is no mutation "none". Choose among: held-without-deadline'],
    [['--subject', 'peer:unknown', '--store', 'redis'], 'There is no subject "peer:unknown".'],
    [['--subject', 'peers', '--store', 'etcd'], 'say --store redis, not etcd'],
    [
      ['--subject', 'command-line', '--store', 'memory'],
      'The command line is not tried on memory.',
    ],
    [
      ['--subject', 'command-line,peers'],
      'The command line is tried by itself: name no other subject.',
    ],
    [
      ['--faults', 'late-gate', '--store', 'redis'],
      'The fault late-gate meets only the command line',
    ],
    [
      ['--mutation', 'gate-without-lease'],
      'The mutation gate-without-lease is one of the command line',
    ],
    [['--colour'], "Unknown option '--colour'"],
  ])('refuses %j with a sentence and its usage', async (args, sentence) => {
    const { status, stderr, left } = await torture(...args)
    expect(stderr).toContain(sentence)
    expect(stderr).toContain('npm run torture --')
    expect(status).toBe(64)
    expect(left).toEqual([])
  })

  test('says which server is not installed, and how to install it', async () => {
    // A path on which there is only Node.
    symlinkSync(process.execPath, join(folder, 'node'))
    const { status, stderr } = await start(['--store', 'redis', '--seconds', '1'], { PATH: folder })
      .ended
    expect(stderr).toBe(
      'The store redis needs redis-server, which is not installed. On Debian: apt-get install redis-server; or choose others with --store.\n',
    )
    expect(status).toBe(69)
  })

  test('shows the same schedule for the same seed, and another one for another', async () => {
    const one = await plan('7')
    expect(one).toMatch(/^redis: \d+ faults\n +\d+ ms {2}\S+ +for \d+ ms/)
    expect(await plan('7')).toBe(one)
    expect(await plan('8')).not.toBe(one)
  })

  test('writes a history that can be read again, and a report', async () => {
    const [history, report] = [join(folder, 'history.jsonl'), join(folder, 'report.html')]
    const files = ['--history', history, '--report', report]
    const { status, stdout } = await torture(
      '--store',
      'memory',
      '--seconds',
      '2',
      '--faults',
      'none',
      ...files,
    )
    expect(stdout).toMatch(/^ {2}exclusion +kept$/m)
    expect(status).toBe(0)
    expect(parseHistory(readFileSync(history, 'utf8')).length).toBeGreaterThan(50)
    expect(readFileSync(report, 'utf8')).toMatch(/^<!doctype html>[\s\S]*<svg /)
  })

  test.each([
    ['embedded', 'disk-full'],
    ['etcd', 'leader-isolated'],
  ])('refuses a fault of %s that needs root without root: %s', async (store, fault) => {
    const args = ['--store', store, '--faults', fault, '--seconds', '1']
    const { status, stderr, left } = await start(args, {}, isRoot ? WITHOUT_RIGHTS : []).ended
    expect(stderr).toBe(
      `The fault ${fault} needs root. Run this as root, or leave it out of --faults.\n`,
    )
    expect(status).toBe(69)
    expect(left).toEqual([])
  })

  test.each(interrupted)(
    'undoes everything when it is interrupted: %s, %s',
    async (store, faults) => {
      const run = start(['--store', store, '--seconds', '60', '--faults', faults])
      await run.said('3/60 s')
      run.child.kill('SIGINT')
      const { status, stderr, left, running, mounted } = await run.ended
      expect(stderr).toContain('Everything was undone; nothing was judged.')
      expect(status).toBe(130)
      expect(left).toEqual([])
      expect(running).toEqual([])
      expect(mounted).toEqual([])
    },
  )

  test.skipIf(isRoot)(
    'mounts and networks that are undone when it is interrupted: only root makes them',
    () => undefined,
  )
})
