import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { killIfThere } from '@holdfast/servers/processes'
import { Box } from '../support/holdfast.js'
import { gone, withMark } from '../support/processes.js'

/** A shell that starts a child, which works until it gets SIGTERM, and then ends as `end` says. */
function leaving(mark: string, end: string, atTerm = 'exit'): string[] {
  const child = `trap "${atTerm}" TERM; echo ready; while :; do sleep 0.02; done`
  return ['bash', '-c', `bash -c '${child}' ${mark} & read -r _; ${end}`, mark]
}

describe('processes that work on when the command has ended', () => {
  it.each([
    ['the command was killed', 'kill -s KILL $$', 137],
    ['a child of the command was killed', `bash -c 'kill -s KILL $$'; exit $?`, 137],
    ['the command ended by another signal', 'kill -s USR1 $$', 138],
  ])('end before the release when %s', async (_, end, code) => {
    const box = new Box()
    const mark = randomUUID()
    const run = box.holdfast(['run', 'job', '--', ...leaving(mark, end, 'echo asked; exit')])
    await run.prints('ready')
    run.types('\n')
    expect(await run.code()).toBe(code)
    expect(withMark(mark)).toEqual([])
    expect(run.stdout).toContain('asked')
    expect(run.stderr).toMatch(/SIG(KILL|USR1) ended the command, and processes of it still work/)
  })

  it('are killed after the grace when they do not end', async () => {
    const mark = randomUUID()
    const args = ['run', 'job', '--kill-after', '100ms', '--']
    const run = new Box().holdfast([...args, ...leaving(mark, 'kill -s KILL $$', ':')])
    await run.prints('ready')
    run.types('\n')
    expect(await run.code()).toBe(137)
    expect(withMark(mark)).toEqual([])
  })

  it.each([
    ['the command ended by itself', 'exit 3', 3],
    ['its exit code is no signal', 'exit 255', 255],
  ])('work on when %s', async (_, end, code) => {
    const mark = randomUUID()
    const run = new Box().holdfast(['run', 'job', '--', ...leaving(mark, end)])
    await run.prints('ready')
    run.types('\n')
    expect(await run.code()).toBe(code)
    expect(withMark(mark)).not.toEqual([])
    for (const pid of withMark(mark)) killIfThere(pid, 'SIGTERM')
    await gone(mark)
  })

  it('work on after a SIGINT that holdfast passed on', async () => {
    const mark = randomUUID()
    const script = `bash -c 'trap "" INT; echo ready; while :; do sleep 0.02; done' ${mark} & wait`
    const run = new Box().holdfast(['run', 'job', '--', 'bash', '-c', script, mark])
    await run.prints('ready')
    run.kill('SIGINT')
    expect(await run.code()).toBe(130)
    expect(withMark(mark)).not.toEqual([])
    for (const pid of withMark(mark)) killIfThere(pid, 'SIGTERM')
    await gone(mark)
  })

  it('keep the lock with --until-group-ends, and get a SIGTERM', async () => {
    const box = new Box()
    const mark = randomUUID()
    const file = box.file('cleaned')
    const work = leaving(mark, 'exit 3', `touch ${file}; exit`)
    const run = box.holdfast(['run', 'job', '--until-group-ends', '--', ...work])
    await run.prints('ready')
    run.types('\n')
    await eventually('the command has ended', () => withMark(mark).length === 2)
    expect((await box.inspect('job'))?.holders).toHaveLength(1)
    run.kill('SIGTERM')
    expect(await run.code()).toBe(3)
    expect(existsSync(file)).toBe(true)
    expect(withMark(mark)).toEqual([])
  })
})
