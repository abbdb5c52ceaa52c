import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { driver } from '../support/driver.js'
import { Box } from '../support/holdfast.js'
import {
  alive,
  childrenOf,
  commandLine,
  family,
  gone,
  stateOf,
  withMark,
} from '../support/processes.js'
import type { Program } from '../support/program.js'
import { eventually } from '@holdfast/servers/eventually'

function guardianOf(run: Program): number {
  return childrenOf(run.pid).find((pid) => commandLine(pid).includes('guardian.sh')) ?? -1
}

describe('a job without a terminal', () => {
  it.each([
    ['exit 0', 0],
    ['exit 42', 42],
    ['kill -s KILL $$', 137],
    ['kill -s TERM $$', 143],
    ['kill -s USR1 $$', 138],
  ])('passes on how the command ends: %s', async (script, code) => {
    expect(await driver({}, ['sh', '-c', script]).code()).toBe(code)
  })

  it('passes stdin and stdout through', async () => {
    const run = driver({}, ['cat'], { input: 'hello\n' })
    expect(await run.code()).toBe(0)
    expect(run.stdout).toBe('hello\n')
  })

  it('leaves no guardian behind', async () => {
    const run = driver({ untilMs: 60_000 }, ['sh', '-c', 'read line'])
    await run.prints(/\[job/)
    const guardian = guardianOf(run)
    run.kill('SIGTERM')
    expect(await run.code()).toBe(143)
    await eventually('the guardian is gone', () => !alive(guardian))
  })

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const)(
    'forwards %s to the whole group',
    async (signal) => {
      const mark = randomUUID()
      const run = driver({}, family(mark))
      await run.prints('ready')
      run.kill(signal)
      expect(await run.code()).toBe(128 + { SIGTERM: 15, SIGINT: 2, SIGHUP: 1, SIGQUIT: 3 }[signal])
      await gone(mark, [run.pid])
    },
  )

  it('gives SIGUSR1 to the command alone', async () => {
    const script = `trap 'echo usr1; exit 5' USR1; echo ready; while :; do sleep 0.02; done`
    const run = driver({}, ['sh', '-c', script])
    await run.prints('ready')
    run.kill('SIGUSR1')
    expect(await run.code()).toBe(5)
  })

  it('leaves no orphan when the wrapper is killed', async () => {
    const mark = randomUUID()
    const run = driver({}, family(mark))
    await run.prints('ready')
    // Now and then there is one more: the child, about to become a sleep, bears its name.
    await eventually('wrapper, command and child are there', () => withMark(mark).length === 3)
    run.kill('SIGKILL')
    await gone(mark, [run.pid])
  })

  it('leaves no orphan when the command itself is gone already and a child of it lives', async () => {
    const mark = randomUUID()
    const run = driver({}, [
      'sh',
      '-c',
      `sh -c 'while :; do sleep 0.05; done' ${mark} & echo ready; kill -s STOP $PPID; exit 0`,
      mark,
    ])
    await run.prints('ready')
    await eventually(
      'only the grandchild works',
      () => withMark(mark).filter((pid) => pid !== run.pid).length === 1,
    )
    run.kill('SIGKILL')
    await gone(mark, [run.pid])
  })

  it('runs nothing when the wrapper is killed before the gate is open', async () => {
    const mark = randomUUID()
    const run = driver({ hang: true }, ['sh', '-c', 'echo worked', mark])
    await run.prints(/\[group/)
    run.kill('SIGKILL')
    await gone(mark, [run.pid])
    expect(run.stdout).toBe('')
  })

  it('runs nothing when the group cannot be recorded', async () => {
    const run = driver({ refuse: true }, ['sh', '-c', 'echo worked'])
    expect(await run.code()).toBe(77)
    expect(run.stdout).toBe('')
    expect(run.stderr).toContain('[failed refused]')
  })

  it('runs nothing without a guardian', async () => {
    const run = driver({ guardian: 'dead' }, ['sh', '-c', 'echo worked'])
    expect(await run.code()).toBe(71)
    expect(run.stdout).toBe('')
    expect(run.stderr).toContain('guardian process ended')
  })

  it('has the command killed by the guardian when the wrapper is stopped past the end of its lease', async () => {
    const mark = randomUUID()
    const run = driver({ untilMs: 1000 }, family(mark))
    await run.prints('ready')
    run.kill('SIGSTOP')
    await eventually('the wrapper is stopped', () => isStopped(run.pid))
    await gone(mark, [run.pid])
    run.kill('SIGCONT')
    expect(await run.code()).toBe(137)
  })

  it('has it killed by the guardian although the PATH of the command leads nowhere', async () => {
    const run = driver({ untilMs: 400 }, ['/bin/sleep', '60'], { env: { PATH: '/nonexistent' } })
    const command = Number((await run.prints(/\[job (\d+)/))[1])
    run.kill('SIGSTOP')
    await eventually('the command is gone', () => !alive(command))
    run.kill('SIGCONT')
    expect(await run.code()).toBe(137)
  })

  it('reports a killed guardian', async () => {
    const run = driver({}, ['sh', '-c', 'read line'])
    await run.prints(/\[job/)
    process.kill(guardianOf(run), 'SIGKILL')
    await run.prints('guardian died')
    run.kill('SIGTERM')
    expect(await run.code()).toBe(143)
  })

  it('stops the command when it is stopped, and lets it go on only under a living lease', async () => {
    for (const mayContinue of [true, false]) {
      // It starts nothing meanwhile: a shell whose child is stopped before its exec sleeps
      // uninterruptibly, and is never "T".
      const run = driver({ mayContinue }, ['sh', '-c', 'echo tick; exec sleep 60'])
      await run.prints('tick')
      const command = Number((await run.prints(/\[job (\d+)/))[1])
      await eventually('the command sleeps', () => commandLine(command).startsWith('sleep'))
      run.kill('SIGTSTP')
      await eventually('both are stopped', () => [run.pid, command].every(isStopped))
      run.kill('SIGCONT')
      await eventually('the wrapper continues', () => !isStopped(run.pid))
      if (mayContinue) await eventually('the command continues', () => !isStopped(command))
      else expect(isStopped(command)).toBe(true)
      run.kill('SIGKILL')
      await eventually('the command is gone', () => !alive(command))
    }
  })
})

describe('a termination', () => {
  const stubborn = `trap '' TERM; echo ready; while :; do sleep 0.02; done`

  it('asks first', async () => {
    const run = driver({ endAfterMs: 200, graceMs: 60_000 }, [
      'sh',
      '-c',
      `trap 'echo asked; exit 3' TERM; while :; do sleep 0.02; done`,
    ])
    expect(await run.code()).toBe(3)
    expect(run.stdout).toContain('asked')
  })

  it('kills what does not go', async () => {
    const run = driver({ endAfterMs: 200, graceMs: 100 }, ['sh', '-c', stubborn])
    expect(await run.code()).toBe(137)
  })

  it('waits for, and kills, a child that outlives the command', async () => {
    const mark = randomUUID()
    const run = driver({ endAfterMs: 300, graceMs: 100 }, [
      'sh',
      '-c',
      `sh -c "${stubborn}" ${mark} & wait`,
      mark,
    ])
    expect(await run.code()).toBe(143)
    // Not `until`: the end of the wrapper releases the lock, so the command must be gone by then.
    expect(withMark(mark)).toEqual([])
  })

  it('ends what is born after SIGTERM, though its parent goes at once', async () => {
    const mark = randomUUID()
    const born = `sh -c "trap '' TERM; while :; do sleep 0.02; done" ${mark} & exit 5`
    const run = driver({ endAfterMs: 300, graceMs: 400 }, [
      'sh',
      '-c',
      `trap '${born.replaceAll("'", String.raw`'\''`)}' TERM; while :; do sleep 0.02; done`,
    ])
    expect(await run.code()).toBe(5)
    expect(withMark(mark)).toEqual([])
  })

  it('waits for what is born after SIGTERM to clean up', async () => {
    const file = new Box().file('cleaned')
    const run = driver({ endAfterMs: 300, graceMs: 60_000 }, [
      'sh',
      '-c',
      `trap '(sleep 0.3; touch ${file}) & exit 5' TERM; while :; do sleep 0.02; done`,
    ])
    expect(await run.code()).toBe(5)
    expect(existsSync(file)).toBe(true)
  })

  it('ends and waits for processes with groups of their own, such as those of timeout(1)', async () => {
    const mark = randomUUID()
    const run = driver({ endAfterMs: 500, graceMs: 60_000 }, [
      'bash',
      '-c',
      `timeout 60 sh -c "sleep 60; :" ${mark}; exit 3`,
    ])
    expect(await run.code()).toBe(143)
    expect(withMark(mark)).toEqual([])
  })

  it('kills at once without a grace', async () => {
    const run = driver({ endAfterMs: 200, graceMs: 0 }, [
      'sh',
      '-c',
      `trap 'echo asked' TERM; while :; do sleep 0.02; done`,
    ])
    expect(await run.code()).toBe(137)
    expect(run.stdout).not.toContain('asked')
  })
})

function isStopped(pid: number): boolean {
  return stateOf(pid) === 'T'
}
