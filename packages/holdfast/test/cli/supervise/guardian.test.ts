import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync, copyFileSync, existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { GUARDIAN_FOR_NODE, GUARDIAN_SCRIPT } from '../../../dist/cli/paths.js'
import { listProcesses, lookUp } from '../../../dist/cli/supervise/processes.js'
import { Box } from '../support/holdfast.js'
import { alive, gone, stateOf, withMark } from '../support/processes.js'
import { Program } from '../support/program.js'

/** Limits of processes do not bind root. */
const uid = 54_322
const user = process.getuid?.() === 0 ? { uid } : {}

const BASH = ['/bin/bash', '/usr/bin/bash'].find((file) => existsSync(file))
const BUSYBOX = ['/bin/busybox', '/usr/bin/busybox'].find((file) => existsSync(file))
const PROGRAMS = {
  bash: BASH === undefined ? undefined : [BASH, GUARDIAN_SCRIPT],
  busybox: BUSYBOX === undefined ? undefined : [BUSYBOX, 'sh', GUARDIAN_SCRIPT],
  node: [process.execPath, GUARDIAN_FOR_NODE],
}

/** A folder in which the tools of a shell do nothing. */
function uselessTools(): Box {
  const box = new Box()
  chmodSync(box.folder, 0o755)
  for (const tool of ['cat', 'kill', 'ps', 'sleep']) {
    copyFileSync('/bin/true', box.file(tool))
    chmodSync(box.file(tool), 0o755)
  }
  return box
}

/** Starts a guardian that can start no process and find no tool. */
async function start(program: readonly string[]): Promise<Program> {
  const box = uselessTools()
  // The checkout may be in a folder that no other user can read.
  const script = box.file('guardian')
  copyFileSync(program.at(-1) as string, script)
  chmodSync(script, 0o644)
  const [file, ...args] = [...program.slice(0, -1), script]
  const guardian = new Program(file, args, { env: { PATH: box.folder }, ...user })
  await eventually('the guardian has started', () => lookUp(guardian.pid) !== undefined)
  return guardian
}

/** Nothing that the guardian does from here on starts a process. */
function limit(guardian: Program): void {
  execFileSync('prlimit', ['--pid', String(guardian.pid), '--nproc=1'], user)
}

/** Starts a session whose members have the mark as their name, and waits for `count` of them. */
async function session(script: string, count: number): Promise<{ job: Program; mark: string }> {
  const mark = randomUUID()
  const env = { MARK: mark }
  const job = new Program('bash', ['-c', script, mark], { env, ...user })
  await eventually(`${count} work`, () => withMark(mark).length >= count)
  return { job, mark }
}

/** The process groups of a session. */
function groupsOf(session: number): Set<number> {
  const members = listProcesses().filter(({ session: id }) => id === session)
  return new Set(members.map(({ pgid }) => pgid))
}

const WORK = `exec -a "$0" sleep 600`

function canRun(program: readonly string[] | undefined): program is readonly string[] {
  return program !== undefined && spawnSync(program[0] as string, ['--help'], user).status === 0
}

describe.each(Object.entries(PROGRAMS))('a guardian in %s', (name, program) => {
  if (!canRun(program)) {
    it.skip(`is left out: this user, or uid ${uid} for root, has no ${name}`)
    return
  }

  it('needs no process and no PATH to kill a session, groups of their own included', async () => {
    const guardian = await start(program)
    const { job, mark } = await session(`set -m; (${WORK}) & (${WORK}) & wait`, 3)
    // A child of the shell is in the shell's group for a moment after its start.
    await eventually('each works in a group of its own', () => groupsOf(job.pid).size === 3)
    guardian.types(`watch session ${job.pid} ${lookUp(job.pid)?.startTime}\n`)
    await guardian.prints('ready')
    limit(guardian)
    guardian.types('until 600\nuntil 0.05\n')
    await gone(mark)
  })

  it('kills when its pipe ends, a process in a terminal included whose parent has ended', async () => {
    const guardian = await start(program)
    const { job, mark } = await session(`(${WORK}) & exec -a "$0" sleep 600`, 2)
    const { job: other, mark: free } = await session(`exec -a "$0" sleep 600`, 1)
    const [orphan] = withMark(mark).filter((pid) => pid !== job.pid)
    // The leader is a stranger's process: the orphan is found by the session and the mark.
    guardian.types(`watch tree ${other.pid} 1 ${job.pid} MARK=${mark}\n`)
    await guardian.prints('ready')
    limit(guardian)
    guardian.endInput()
    expect(await guardian.code()).toBe(0)
    await gone(mark)
    expect(alive(orphan ?? -1)).toBe(false)
    expect(withMark(free)).toEqual([other.pid])
  })

  it('reads what came while it was stopped before it kills', async () => {
    const guardian = await start(program)
    const { job } = await session(`exec -a "$0" sleep 600`, 1)
    guardian.types(`watch session ${job.pid} ${lookUp(job.pid)?.startTime}\nuntil 0.2\n`)
    await guardian.prints('ready')
    guardian.kill('SIGSTOP')
    await eventually('the guardian is stopped', () => stateOf(guardian.pid) === 'T')
    guardian.types('until 600\ndone\n')
    // Its time has to pass meanwhile.
    await pause(300)
    guardian.kill('SIGCONT')
    expect(await guardian.code()).toBe(0)
    expect(alive(job.pid)).toBe(true)
  })

  it('spares a stranger that has the number of the leader', async () => {
    const guardian = await start(program)
    const { job } = await session(`exec -a "$0" sleep 600`, 1)
    guardian.types(`watch session ${job.pid} 1\n`)
    guardian.endInput()
    expect(await guardian.code()).toBe(0)
    expect(alive(job.pid)).toBe(true)
  })
})
