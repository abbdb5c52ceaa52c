/** `holdfast acquire`, `renew` and `release`: a lock that no process holds. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { expect, it } from 'vitest'
import { BIN, Box } from '../support/holdfast.js'
import { withMark } from '../support/processes.js'
import { Program } from '../support/program.js'
import { eventually } from '@holdfast/servers/eventually'
import { startRedis } from '@holdfast/servers/redis'

const SIGNAL_AT_GRANT = fileURLToPath(new URL('../drivers/signal-at-grant.mjs', import.meta.url))

async function acquire(box: Box, ...options: readonly string[]): Promise<string> {
  const run = box.holdfast(['acquire', 'job', ...options])
  expect(await run.code(), run.stderr).toBe(0)
  expect(run.stdout).toMatch(/^hf1\.\S+\n$/)
  return run.stdout.trim()
}

const busy = async (box: Box): Promise<number | string> =>
  box.holdfast(['run', 'job', '--wait', '0', '--', 'true']).code()

it('holds the lock after the end of its process, until the release', async () => {
  const box = new Box()
  const handle = await acquire(box)
  expect(await busy(box)).toBe(75)
  expect((await box.inspect('job'))?.holders[0]?.label).toBe('acquire')
  expect(await box.holdfast(['renew', handle]).code()).toBe(0)
  expect(await busy(box)).toBe(75)
  expect(await box.holdfast(['release', handle]).code()).toBe(0)
  expect(await busy(box)).toBe(0)
})

it('ends with its TTL, and renew and release say that it is lost', async () => {
  const box = new Box()
  const handle = await acquire(box, '--ttl', '1s')
  await eventually('it is free', async () => (await busy(box)) === 0)
  for (const verb of ['renew', 'release']) {
    const run = box.holdfast([verb, handle, '--json'])
    expect(await run.code()).toBe(74)
    expect(JSON.parse(run.stderr)).toMatchObject({ error: { code: 'LOCK_LOST' }, exitCode: 74 })
  }
})

it('renew extends the lease', async () => {
  const box = new Box()
  const handle = await acquire(box, '--ttl', '30s')
  const endMs = async (): Promise<number> => {
    const { lock } = await box.json<{ lock: { holders: { expiresAt: string }[] } }>([
      ...['inspect', 'job'],
    ])
    return Date.parse(lock.holders[0]?.expiresAt ?? '')
  }
  const before = await endMs()
  expect(await box.holdfast(['renew', handle]).code()).toBe(0)
  // Starting the command takes longer than the two clocks differ.
  expect(await endMs()).toBeGreaterThan(before + 20)
})

it('waits for a busy lock, and leaves the queue by a signal', async () => {
  const box = new Box()
  const holder = await box.holder('job')
  const waiting = box.holdfast(['acquire', 'job'])
  await box.waiters('job', 1)
  waiting.kill('SIGINT')
  expect(await waiting.code()).toBe(130)
  await box.waiters('job', 0)
  expect(await box.holdfast(['acquire', 'job', '--wait', '0']).code()).toBe(75)
  holder.types('\n')
  await holder.code()
})

async function cannotWrite(box: Box, script: string, why: string): Promise<void> {
  const args = ['-c', `${script}; echo "code $?" >&2`, process.execPath, BIN, box.file('pipe')]
  const run = new Program('sh', args, { env: box.env })
  await run.code()
  expect(run.stderr).toMatch(/^holdfast: The handle of "job" could not be written, so the lock/)
  expect(run.stderr).toContain(why)
  expect(run.stderr).toMatch(/code 78\n$/)
  expect(await busy(box)).toBe(0)
}

it.runIf(existsSync('/dev/full'))('releases the lock when the disk is full', async () => {
  await cannotWrite(new Box(), '"$0" "$1" acquire job >/dev/full', 'ENOSPC')
})

it('releases the lock when the reader of its handle has gone', async () => {
  const script = 'mkfifo "$2"; : <"$2" & exec 3>"$2"; wait; "$0" "$1" acquire job >&3'
  await cannotWrite(new Box(), script, 'EPIPE')
})

it('releases the lock when a signal comes before the handle is written', async () => {
  const server = await startRedis()
  try {
    const box = new Box()
    const env = { ...box.env, HOLDFAST_STORE: server.url, HOLDFAST_TEST_SERVER: `${server.pid}` }
    const run = new Program(
      process.execPath,
      ['--import', SIGNAL_AT_GRANT, BIN, 'acquire', 'job'],
      { env },
    )
    expect(await run.code()).toBe(143)
    expect(run.stdout).toBe('')
    expect(run.stderr).toBe('holdfast: SIGTERM came before the work under "job" could start.\n')
    const next = box.holdfast(['run', 'job', '--wait', '0', '--', 'true'], { env })
    expect(await next.code()).toBe(0)
  } finally {
    await server.stop()
  }
})

it('the library adopts the handle, which then is used up', async () => {
  const box = new Box()
  const handle = await acquire(box)
  const locks = createLocks(embeddedStore({ directory: box.file('store') }))
  try {
    const lease = await locks.mutex('job').adopt(handle)
    expect(lease.held).toBe(true)
    expect(await box.holdfast(['release', handle]).code()).toBe(74)
    expect(await busy(box)).toBe(75)
    await lease.release()
  } finally {
    await locks.close()
  }
  expect(await busy(box)).toBe(0)
})

it('keeps the lock while a process runs, and releases it when that ends', async () => {
  const box = new Box()
  const script = new Program('sleep', ['600'])
  const handle = await acquire(box, '--pid', String(script.pid), '--ttl', '1s')
  const keepers = (): number[] => withMark(handle)
  expect(keepers()).toHaveLength(1)
  const endMs = async (): Promise<number> => {
    const { locks } = await box.json<{ locks: { holders: { expiresAt: string }[] }[] }>(['ls'])
    return Date.parse(locks[0]?.holders[0]?.expiresAt ?? '')
  }
  const first = await endMs()
  await eventually('it was renewed', async () => (await endMs()) > first)
  expect(await busy(box)).toBe(75)
  script.kill('SIGKILL')
  await eventually('the lock is free', async () => (await busy(box)) === 0)
  await eventually('the keeper has ended', () => keepers().length === 0)
})

it.each(['1s', '1h'])('a release by the handle ends the keeper of a TTL of %s', async (ttl) => {
  const box = new Box()
  const script = new Program('sleep', ['600'])
  const handle = await acquire(box, '--pid', String(script.pid), '--ttl', ttl)
  expect(withMark(handle)).toHaveLength(1)
  expect(await box.holdfast(['release', handle]).code()).toBe(0)
  expect(await busy(box)).toBe(0)
  await eventually('the keeper has ended', () => withMark(handle).length === 0)
})

it('refuses a process that is not there, and one with the number of an earlier one', async () => {
  const box = new Box()
  for (const pid of ['x', '4194305', `${process.pid}:1`]) {
    const run = box.holdfast(['acquire', 'job', '--pid', pid])
    expect(await run.code()).toBe(64)
    expect(run.stderr).toContain('is no running process')
  }
  expect(await box.inspect('job')).toBeNull()
})

it('acquires nothing where stdout is closed, and something where it is /dev/null', async () => {
  const box = new Box()
  const shell = (redirection: string): Program =>
    new Program('sh', ['-c', `"${process.execPath}" "${BIN}" acquire job ${redirection}`], {
      env: box.env,
    })
  const closed = shell('>&-')
  expect(await closed.code()).toBe(78)
  expect(closed.stderr).toContain('stdout is closed, or leads nowhere')
  expect(await box.inspect('job')).toBeNull()
  expect(await shell('>/dev/null').code()).toBe(0)
  expect((await box.inspect('job'))?.holders).toHaveLength(1)
})

it('keeps a lock for a program that ignores its output', async () => {
  const box = new Box()
  const script = new Program('sleep', ['600'])
  const args = [BIN, 'acquire', 'job', '--pid', String(script.pid), '--ttl', '1s']
  const { status } = spawnSync(process.execPath, args, { stdio: 'ignore', env: box.env })
  expect(status).toBe(0)
  expect(await busy(box)).toBe(75)
  script.kill('SIGKILL')
  await eventually('the lock is free', async () => (await busy(box)) === 0)
})
