import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { BIN, Box } from '../support/holdfast.js'
import {
  alive,
  childrenOf,
  commandLine,
  gone,
  stopBetweenWrites,
  withMark,
} from '../support/processes.js'
import { Program } from '../support/program.js'
import { eventually } from '@holdfast/servers/eventually'

function guardianOf(run: Program): number {
  return childrenOf(run.pid).find((pid) => commandLine(pid).includes('guardian.sh')) ?? -1
}

describe('holdfast run', () => {
  it('runs a job under a lock and passes its exit code on', async () => {
    const box = new Box()
    const run = box.holdfast(['run', 'job', '--', 'sh', '-c', 'echo out; echo err >&2; exit 42'])
    expect(await run.code()).toBe(42)
    expect(run.stdout).toBe('out\n')
    expect(run.stderr).toBe('err\n')
  })

  it.each([
    ['a signal', ['sh', '-c', 'kill -s KILL $$'], 137],
    ['not found', ['no-such-command-here'], 127],
    ['not found by path', ['./no-such-file'], 127],
    ['not executable', ['/etc/passwd'], 126],
    ['a folder', ['/'], 126],
    ['an empty word', [''], 127],
  ])('has the exit code of a shell for %s', async (_, command, code) => {
    expect(await new Box().holdfast(['run', 'job', '--', ...command]).code()).toBe(code)
  })

  it('does not wait for a lock to find out that the command does not exist', async () => {
    const box = new Box()
    const holder = await box.holder('job')
    expect(await box.holdfast(['run', 'job', '--', 'no-such-command-here']).code()).toBe(127)
    holder.kill('SIGTERM')
    await holder.code()
  })

  it('describes the lock in the environment of the command', async () => {
    const box = new Box()
    const show = 'process.stdout.write(JSON.stringify(process.env))'
    const run = box.holdfast(['run', 'a job', '--ttl', '7s', '--', process.execPath, '-e', show])
    expect(await run.code()).toBe(0)
    const env = JSON.parse(run.stdout) as Record<string, string>
    expect(env).toMatchObject({
      HOLDFAST_LOCK_NAME: 'a job',
      HOLDFAST_TTL_MS: '7000',
      HOLDFAST_STORE: box.env.HOLDFAST_STORE,
    })
    expect(BigInt(env['HOLDFAST_TOKEN'] ?? 0)).toBeGreaterThan(0n)
    expect(env['HOLDFAST_OWNER']).toMatch(/^[\w.-]{8,64}$/)
  })

  it('lets a second run wait, shows both in ls, and lets it in when the first one is done', async () => {
    const box = new Box()
    const first = await box.holder('job', ['--label', 'the first'])
    const second = box.holdfast(['run', 'job', '--', 'echo', 'mine'])
    await box.waiters('job', 1)
    const listing = box.holdfast(['ls'])
    expect(await listing.code()).toBe(0)
    expect(listing.stdout).toContain(box.env.HOLDFAST_STORE)
    expect(listing.stdout).toMatch(/job +exclusive .*pid \d+ .*1, longest .*the first/)
    const held = await box.inspect('job')
    expect(held?.holders).toMatchObject([{ pid: first.pid, label: 'the first' }])
    expect(held?.holders[0]?.processGroup).toBeGreaterThan(0)
    expect(held?.waiters).toMatchObject([{ pid: second.pid }])
    expect(second.stdout).toBe('')
    first.kill('SIGTERM')
    expect(await first.code()).toBe(143)
    expect(await second.code()).toBe(0)
    expect(second.stdout).toBe('mine\n')
  })

  it('never runs two at once', async () => {
    const box = new Box()
    const log = box.file('log')
    const script = `echo in >>'${log}'; sleep 0.02; echo out >>'${log}'`
    const runs = Array.from({ length: 6 }, () =>
      box.holdfast(['run', 'job', '--', 'sh', '-c', script]),
    )
    expect(await Promise.all(runs.map((run) => run.code(15_000)))).toEqual([0, 0, 0, 0, 0, 0])
    expect(readFileSync(log, 'utf8')).toBe('in\nout\n'.repeat(6))
  })

  it('lets the waiter in at once when the holder is killed, and leaves no orphan beside it', async () => {
    const box = new Box()
    const mark = randomUUID()
    const holder = await box.holder(
      'job',
      [],
      `sh -c 'echo held; while :; do sleep 0.05; done' ${mark}; exit`,
    )
    const waiter = box.holdfast([
      'run',
      'job',
      '--',
      'sh',
      '-c',
      `ps -A -o args= | grep -c '[d]one ${mark}'; echo mine`,
    ])
    await box.waiters('job', 1)
    const killedMs = performance.now()
    holder.kill('SIGKILL')
    expect(await waiter.code()).toBe(0)
    // A TTL is 30 s: a wait far below that ended by the death of the holder and not by its expiry.
    expect(performance.now() - killedMs).toBeLessThan(3_000)
    expect(waiter.stdout).toBe('0\nmine\n')
    await gone(mark)
  })

  it('does not let the waiter in beside an orphan, when the guardian is killed as well', async () => {
    const box = new Box()
    const holder = await box.holder('job', [], 'echo held; while :; do sleep 0.05; done')
    const group = (await box.inspect('job'))?.holders[0]?.processGroup ?? -1
    const waiter = box.holdfast(['run', 'job', '--', 'echo', 'mine'])
    await box.waiters('job', 1)
    process.kill(guardianOf(holder), 'SIGKILL')
    holder.kill('SIGKILL')
    await holder.exited
    // Long enough for the death to be noticed and looked at many times over; the orphan works all
    // the while.
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(alive(group)).toBe(true)
    expect(waiter.stdout).toBe('')
    process.kill(-group, 'SIGKILL')
    expect(await waiter.code()).toBe(0)
    expect(waiter.stdout).toBe('mine\n')
  })

  it('runs a text by the shell with -c', async () => {
    const run = new Box().holdfast(['run', 'job', '-c', 'echo "$HOLDFAST_LOCK_NAME"; exit 5'])
    expect(await run.code()).toBe(5)
    expect(run.stdout).toBe('job\n')
  })

  it.each([
    [['--wait', '0'], 75],
    [['--wait', '150ms'], 75],
    [['--wait', '0', '--skip-ok'], 0],
    [['-n'], 75],
    [['-w', '150ms'], 75],
    [['-n', '-E', '0'], 0],
    [['-nE', '9'], 9],
  ])('gives up a busy lock: %j', async (options, code) => {
    const box = new Box()
    const holder = await box.holder('job')
    const run = box.holdfast(['run', 'job', ...options, '--', 'echo', 'never'])
    expect(await run.code()).toBe(code)
    expect(run.stdout).toBe('')
    if (code !== 0) expect(run.stderr).toMatch(/"job" is busy, held by \S+ pid \d+ \(sh\)/)
    else expect(run.stderr).toBe('')
    expect((await box.inspect('job'))?.waiters).toEqual([])
    holder.kill('SIGTERM')
    await holder.code()
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('leaves the queue on %s', async (signal, code) => {
    const box = new Box()
    const holder = await box.holder('job')
    const waiter = box.holdfast(['run', 'job', '--', 'echo', 'never'])
    await box.waiters('job', 1)
    waiter.kill(signal)
    expect(await waiter.code()).toBe(code)
    expect(waiter.stdout).toBe('')
    await box.waiters('job', 0)
    holder.kill('SIGTERM')
    await holder.code()
  })

  it('releases the lock when a signal ends it', async () => {
    const box = new Box()
    const holder = await box.holder('job')
    holder.kill('SIGTERM')
    expect(await holder.code()).toBe(143)
    expect(await box.inspect('job')).toBeNull()
  })

  it('shares with --shared, and excludes those without', async () => {
    const box = new Box()
    const readers = [await box.holder('job', ['--shared']), await box.holder('job', ['--shared'])]
    const writer = box.holdfast(['run', 'job', '--', 'echo', 'writes'])
    await box.waiters('job', 1)
    for (const reader of readers) reader.kill('SIGTERM')
    expect(await writer.code()).toBe(0)

    const exclusive = await box.holder('job')
    expect((await box.inspect('job'))?.kind).toBe('exclusive')
    expect(await box.holdfast(['run', 'job', '--shared', '--wait', '0', '--', 'true']).code()).toBe(
      75,
    )
    const reader = box.holdfast(['run', 'job', '--shared', '--', 'echo', 'reads'])
    exclusive.kill('SIGTERM')
    expect(await reader.code()).toBe(0)
  })

  it('gives out --permits, and refuses to guess when they differ', async () => {
    const box = new Box()
    const [first, second] = [
      await box.holder('gpu', ['--permits', '2']),
      await box.holder('gpu', ['--permits', '2']),
    ]
    expect(
      await box.holdfast(['run', 'gpu', '--permits', '2', '--wait', '0', '--', 'true']).code(),
    ).toBe(75)
    const other = box.holdfast(['run', 'gpu', '--permits', '3', '--', 'true'])
    expect(await other.code()).toBe(78)
    expect(other.stderr).toContain('gpu')
    expect(await box.holdfast(['run', 'gpu', '--wait', '0', '--', 'true']).code()).toBe(78)
    for (const holder of [first, second]) holder.kill('SIGTERM')
    await Promise.all([first.code(), second.code()])
  })

  it('keeps the lock for --at-least-for', async () => {
    const box = new Box()
    const run = box.holdfast(['run', 'tick', '--at-least-for', '1h', '--', 'echo', 'done'])
    await run.prints('done')
    expect(await box.holdfast(['run', 'tick', '--wait', '0', '--', 'true']).code()).toBe(75)
    run.kill('SIGTERM')
    expect(await run.code()).toBe(0)
    expect(await box.inspect('tick')).toBeNull()
  })

  it('does not keep it when a signal ended the command', async () => {
    const box = new Box()
    const run = await box.holder('tick', ['--at-least-for', '1h'])
    run.kill('SIGTERM')
    expect(await run.code()).toBe(143)
    expect(await box.inspect('tick')).toBeNull()
  })

  it('keeps it for all messages that were meant for the command', async () => {
    const box = new Box()
    const run = box.holdfast(['run', 'tick', '--at-least-for', '1h', '--', 'sh', '-c', 'echo $$'])
    const command = Number((await run.prints(/\d+/))[0])
    await eventually('the command is through', () => !alive(command))
    await eventually('the wrapper knows', () => guardianOf(run) === -1)
    run.kill('SIGUSR1')
    // By its answer the store has kept the lock through all that the signal could have done.
    expect((await box.inspect('tick'))?.holders).toHaveLength(1)
    run.kill('SIGTERM')
    expect(await run.code()).toBe(0)
  })

  it('ends --at-least-for by itself', async () => {
    const box = new Box()
    const file = box.file('status')
    const run = box.holdfast([
      'run',
      'tick',
      '--at-least-for',
      '400ms',
      '--status-file',
      file,
      '--',
      'false',
    ])
    expect(await run.code()).toBe(1)
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ outcome: 'ran', exitCode: 1 })
    expect(
      (JSON.parse(readFileSync(file, 'utf8')) as { heldMs: number }).heldMs,
    ).toBeGreaterThanOrEqual(400)
  })

  it('ends the command after --at-most-for with 124', async () => {
    const box = new Box()
    const run = box.holdfast(['run', 'job', '--at-most-for', '200ms', '--', 'sleep', '60'])
    expect(await run.code()).toBe(124)
    expect(run.stderr).toContain('--at-most-for')
  })

  it('refuses to wait for itself', async () => {
    const box = new Box()
    const run = box.holdfast([
      'run',
      'job',
      '--',
      process.execPath,
      BIN,
      'run',
      'job',
      '--',
      'true',
    ])
    expect(await run.code()).toBe(64)
    expect(run.stderr).toContain('would wait for itself')
  })

  it('refuses to wait for itself across another lock', async () => {
    const box = new Box()
    const again = ['--', process.execPath, BIN, 'run']
    const run = box.holdfast(['run', 'a', ...again, 'b', ...again, 'a', '--', 'true'])
    expect(await run.code()).toBe(64)
    expect(run.stderr).toContain('already runs under "a"')
  })

  it('writes how it ended with --json and --status-file', async () => {
    const box = new Box()
    const file = box.file('status.json')
    writeFileSync(file, 'old')
    const run = box.holdfast([
      'run',
      'job',
      '--json',
      '--status-file',
      file,
      '--',
      'sh',
      '-c',
      'exit 3',
    ])
    expect(await run.code()).toBe(3)
    const status = JSON.parse(run.stderr) as Record<string, unknown>
    expect(status).toEqual({
      schemaVersion: 1,
      lock: 'job',
      store: box.env.HOLDFAST_STORE,
      outcome: 'ran',
      exitCode: 3,
      command: { code: 3, signal: null },
      claimId: expect.stringMatching(/^[\w.-]+$/),
      token: expect.stringMatching(/^\d+$/),
      waitedMs: expect.any(Number),
      heldMs: expect.any(Number),
      release: 'released',
      error: null,
    })
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(status)
    expect(readdirSync(box.folder).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  it('prints only the line of --json on stderr, also when its guardian is killed', async () => {
    const box = new Box()
    const run = await box.holder('job', ['--json'])
    process.kill(guardianOf(run), 'SIGKILL')
    await eventually('the guardian is gone', () => guardianOf(run) === -1)
    run.types('\n')
    expect(await run.code()).toBe(0)
    expect(JSON.parse(run.stderr)).toMatchObject({ outcome: 'ran' })
  })

  it.each([
    ['a folder that is not there', 'none/status'],
    ['a folder in its place', '.'],
  ])('starts nothing when its status would find no place: %s', async (_, place) => {
    const box = new Box()
    const run = box.holdfast(['run', 'job', '--status-file', box.file(place), '--', 'echo', 'did'])
    expect(await run.code()).toBe(78)
    expect(run.stdout).toBe('')
    expect(run.stderr).toMatch(
      /^holdfast: The status cannot be written to .*Choose another file\.\n$/,
    )
  })

  it('refuses a status file without a name before it runs anything', async () => {
    const run = new Box().holdfast(['run', 'job', '--status-file', '', '--', 'echo', 'did'])
    expect(await run.code()).toBe(64)
    expect([run.stdout, run.stderr]).toEqual(['', expect.stringContaining('--status-file')])
  })

  it('does not wait for a reader of a pipe that is to have the status', async () => {
    const box = new Box()
    const pipe = box.file('pipe')
    execFileSync('mkfifo', [pipe])
    const alone = box.holdfast(['run', 'job', '--status-file', pipe, '--', 'sh', '-c', 'exit 3'])
    expect(await alone.code()).toBe(3)
    expect(alone.stderr).toMatch(
      /^holdfast: The status could not be written .*no process has it open for reading/,
    )
    // Opened for both, since to open it for reading alone would wait for us.
    const reader = new Program('sh', ['-c', 'exec 3<>"$0"; echo open >&2; head -n 1 <&3', pipe])
    await reader.prints('open')
    const read = box.holdfast(['run', 'job', '--status-file', pipe, '--', 'sh', '-c', 'exit 3'])
    expect(await read.code()).toBe(3)
    expect(read.stderr).toBe('')
    expect(await reader.code()).toBe(0)
    expect(JSON.parse(reader.stdout)).toMatchObject({ outcome: 'ran', exitCode: 3 })
  })

  it('keeps the exit code of the command when its status finds no place any more', async () => {
    const box = new Box()
    const [folder, file] = [box.file('folder'), box.file('folder/status')]
    for (const options of [[], ['--json']]) {
      mkdirSync(folder)
      const work = ['sh', '-c', `rmdir '${folder}'; exit 3`]
      const run = box.holdfast(['run', 'job', '--status-file', file, ...options, '--', ...work])
      expect(await run.code()).toBe(3)
      if (options.length === 0)
        expect(run.stderr).toMatch(/^holdfast: The status could not be written/)
      else
        expect(JSON.parse(run.stderr)).toMatchObject({ outcome: 'ran', error: { code: 'CONFIG' } })
    }
  })

  it('has a status for a run that never started', async () => {
    const box = new Box()
    const holder = await box.holder('job')
    const run = box.holdfast(['run', 'job', '--wait', '0', '--json', '--', 'true'])
    expect(await run.code()).toBe(75)
    expect(JSON.parse(run.stderr)).toMatchObject({
      outcome: 'busy',
      command: null,
      claimId: null,
      error: { code: 'LOCK_TIMEOUT' },
    })
    holder.kill('SIGTERM')
    await holder.code()
  })
})

describe('a run that loses its lock', () => {
  const careful = `trap 'echo asked; exit 9' TERM; echo held; while :; do sleep 0.02; done`

  it('asks the command to end after a steal, and exits with 74', async () => {
    const box = new Box()
    const run = await box.holder('job', ['--ttl', '3s', '--json'], careful)
    const steal = box.holdfast(['steal', 'job', '--confirm', 'job', '--reason', 'it hangs'])
    expect(await steal.code()).toBe(0)
    expect(steal.stdout).toMatch(/Took "job" from its holder \(\S+: it hangs\)/)
    expect(await run.code()).toBe(74)
    expect(run.stdout).toContain('asked')
    expect(run.stderr).toContain('it hangs')
    // The last line is ours; before it the shell may say that its own child was terminated.
    expect(JSON.parse(run.stderr.trim().split('\n').at(-1) ?? '')).toMatchObject({
      outcome: 'lost',
      exitCode: 74,
      command: { code: 9 },
      release: 'lost',
    })
  })

  it('keeps the lock after a SIGTERM until those that it reached have ended, though the command went at once', async () => {
    const box = new Box()
    // The shell is gone at once, and the program that it waits for cleans up, for longer than a
    // first lease lasts.
    const cleanUp = `trap 'echo cleaning; sleep 3; echo cleaned' TERM; echo held; sleep 60 & wait`
    const worker = `sh -c "${cleanUp}"; true`
    const holder = box.holdfast(['run', 'a', '--ttl', '2s', '--', 'sh', '-c', worker])
    await holder.prints('held')
    const next = box.holdfast(['run', 'a', '--', 'echo', 'next'])
    holder.kill('SIGTERM')
    await holder.prints('cleaning')
    expect(await next.code(20_000)).toBe(0)
    expect(holder.stdout).toContain('cleaned')
    expect(await holder.code()).toBe(143)
  })

  it('kills at once with --on-lost kill, and lets the command be with warn', async () => {
    const box = new Box()
    // Long enough to be held when it is stolen, also on a busy machine. A renewal finds the loss.
    const killed = await box.holder('a', ['--ttl', '6s', '--on-lost', 'kill'], careful)
    const warned = await box.holder(
      'b',
      ['--ttl', '6s', '--on-lost', 'warn'],
      'echo held; read -r line; echo "$line"; exit 6',
    )
    await box.json(['steal', 'a', '--confirm', 'a', '--reason', 'test', '--now'])
    await box.json(['steal', 'b', '--confirm', 'b', '--reason', 'test', '--now'])
    expect(await killed.code()).toBe(74)
    expect(killed.stdout).not.toContain('asked')
    await warned.prints('keeps running')
    warned.types('still here\n')
    expect(await warned.code()).toBe(6)
    expect(warned.stdout).toContain('still here')
  })

  it('has its command killed before the lease ends, even when the wrapper is stopped', async () => {
    const box = new Box()
    const mark = randomUUID()
    const holder = await box.holder(
      'job',
      ['--ttl', '1500ms'],
      `sh -c 'echo held; while :; do sleep 0.02; done' ${mark}; exit`,
    )
    await stopBetweenWrites(holder.pid)
    const next = box.holdfast(['run', 'job', '--', 'sh', '-c', 'echo mine; sleep 60'])
    await next.prints('mine')
    expect(withMark(mark).filter((pid) => pid !== holder.pid)).toEqual([])
    holder.kill('SIGCONT')
    expect(await holder.code()).toBe(74)
    next.kill('SIGTERM')
    await next.code()
  })
})

describe('a run in a terminal', () => {
  it('says who holds the lock, and leaves the queue on Ctrl-C', async () => {
    const box = new Box()
    const holder = await box.holder('job', ['--label', 'nightly'])
    const terminal = box.inTerminal(['run', 'job', '--', 'echo', 'never'])
    await terminal.shows(/waiting for "job" \(embedded:.*\), held by \S+ pid \d+ \(nightly\) for/)
    terminal.types('\x03')
    expect(await terminal.code()).toBe(130)
    await box.waiters('job', 0)
    holder.kill('SIGTERM')
    await eventually('the holder is gone', async () => (await holder.code()) === 143)
  })

  it('says that it keeps the lock for --at-least-for, but not with --json', async () => {
    const stay = ['run', 'job', '--at-least-for', '300ms']
    const shown = new Box().inTerminal([...stay, '--', 'true'])
    expect(await shown.code()).toBe(0)
    expect(shown.screen).toMatch(/the lock is kept for another/)
    const quiet = new Box().inTerminal([...stay, '--json', '--', 'true'])
    expect(await quiet.code()).toBe(0)
    expect(JSON.parse(quiet.screen)).toMatchObject({ outcome: 'ran' })
  })

  it('records the foreground group in the claim', async () => {
    const box = new Box()
    const terminal = box.inTerminal(['run', 'job', '--', 'sh', '-c', 'echo held; read -r _'])
    await terminal.shows('held')
    expect((await box.inspect('job'))?.holders[0]?.processGroup).toBe(terminal.pid)
    terminal.types('\x03')
    expect(await terminal.code()).toBe(130)
  })
})
