/**
 * The command line: what it answers, what it prints of a failing seed, and what it says to
 * nonsense.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseHistory } from '@holdfast/conformance'
import { afterAll, describe, expect, test } from 'vitest'

const MAIN = fileURLToPath(new URL('../../verification/simulator/dist/main.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'holdfast-simulate-'))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function simulate(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

describe('the command', () => {
  test('runs some seeds and ends with a table', () => {
    const { status, stdout } = simulate('--seeds', '3', '--store', 'memory')
    expect(status).toBe(0)
    expect(stdout).toMatch(/^store +seeds /m)
    expect(stdout).toMatch(/^memory +3 .* none$/m)
  })

  test('prints a failing seed: how to replay it, what broke, and the shortest story', () => {
    // Five seeds pass before the one that is caught, and that one is quickly cut down.
    const mutation = 'token-block-forgotten'
    const failing = simulate('--seeds', '6', '--store', 'memory', '--mutation', mutation)
    expect(failing.status).toBe(1)
    const [, replay = ''] = /^replay: npm run simulate -- (.*)$/m.exec(failing.stdout) ?? []
    expect(replay).toMatch(/^--store memory --seed 6 --mutation token-block-forgotten$/)
    expect(failing.stdout).toMatch(/^broken: token-unique$/m)
    expect(failing.stdout).toMatch(/^cut down from \d+ to \d+ faults/m)
    expect(failing.stdout).toMatch(/^ +[\d.]+ ms +p\d\.\w \(pid \d+\) \S+ acquire ok /m)

    const replayed = simulate(...replay.split(' '))
    expect(replayed.status).toBe(1)
    const story = /^broken: [\s\S]*?\n\n/m
    expect(failing.stdout).toContain(story.exec(replayed.stdout)?.[0])
  })

  test('writes a history that can be read again', () => {
    const file = join(folder, 'history.jsonl')
    expect(simulate('--seed', '4', '--store', 'memory', '--history', file).status).toBe(0)
    expect(parseHistory(readFileSync(file, 'utf8')).length).toBeGreaterThan(100)
  })

  test('shows its usage', () => {
    const { status, stdout } = simulate('--help')
    expect(status).toBe(0)
    expect(stdout).toContain('--seeds N')
  })

  test.each([
    [['--seeds', 'many'], '--seeds takes a whole number from 1 to'],
    [['--seeds', '0'], '--seeds takes a whole number from 1 to'],
    [['--seed', '-1'], "'--seed"],
    [['--seed', '1.5'], '--seed takes a whole number from 0 to'],
    [['--seed', '1e3'], 'not "1e3"'],
    [
      ['--store', 'etcd'],
      'There is no store model "etcd". Choose among: memory, wall, poll, redis, redis-worker, redlock, etcd-queue, zookeeper-queue.',
    ],
    [
      ['--mutation', 'nothing'],
      'There is no mutation "nothing". Choose among: held-without-deadline,',
    ],
    [['--fast'], "'--fast'"],
    [['7'], "'7'"],
  ])('refuses %j', (args, reason) => {
    const { status, stderr } = simulate(...args)
    expect(status).toBe(64)
    expect(stderr).toContain(reason)
    expect(stderr).toContain('npm run simulate -- ')
  })
})
