import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { stripVTControlCharacters } from 'node:util'
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { CAPACITY_ALL } from 'holdfast/store'
import { describe, expect, it } from 'vitest'
import { BIN, Box } from '../support/holdfast.js'
import { Program } from '../support/program.js'

const CONSENT = ['--confirm', 'x', '--reason', 'why']

describe('bad input', () => {
  it.each([
    ['an unknown command', ['rnu'], 64],
    ['an unknown option', ['ls', '--jsno'], 64],
    ['an option without its value', ['run', 'x', '--ttl', '--', 'true'], 64],
    ['an empty name', ['run', '', '--', 'true'], 64],
    ['a name of 10 kB', ['run', 'x'.repeat(10_240), '--', 'true'], 64],
    ['a control character', ['run', 'a\u001bb', '--', 'true'], 64],
    ['a name for inspect that is too long', ['inspect', 'x'.repeat(10_240)], 64],
    ['two names', ['inspect', 'a', 'b'], 64],
    ['a bad duration', ['run', 'x', '--wait', '5', '--', 'true'], 64],
    ['the memory store', ['run', 'x', '--store', 'memory:', '--', 'true'], 64],
    ['an unknown store', ['ls', '--store', 'gopher://me:secret@host'], 64],
    ['a steal without consent', ['steal', 'x', '--reason', 'why'], 64],
    ['a steal of another name', ['steal', 'x', '--confirm', 'y', '--reason', 'why'], 64],
    ['a steal without a reason', ['steal', 'x', '--confirm', 'x', '--reason', ' '], 64],
    ['a release without a handle', ['release'], 64],
    ['a text that is no handle', ['release', 'x'], 64],
    ['half a handle', ['renew', 'hf1.abc'], 64],
    ['a claim id that is none', ['steal', 'x', '--claim', 'a b', ...CONSENT], 64],
    ['a claim that is not held', ['steal', 'x', '--claim', 'absent.1', ...CONSENT], 66],
    ['a steal of a free lock', ['steal', 'x', '--confirm', 'x', '--reason', 'why'], 66],
    ['an empty namespace', ['run', 'x', '--namespace', '', '--', 'true'], 64],
  ])('%s', async (_, args, code) => {
    const run = new Box().holdfast(args)
    expect(await run.code()).toBe(code)
    expect(run.stdout).toBe('')
    expect(run.stderr).toMatch(/^holdfast: .+\n$/)
    expect(run.stderr).not.toContain('secret')
  })

  it('shows the commands when none is named', async () => {
    const run = new Box().holdfast([])
    expect(await run.code()).toBe(64)
    expect(run.stdout).toBe('')
    expect(run.stderr).toMatch(/^Usage: holdfast COMMAND/)
  })

  it('is reported as JSON with --json', async () => {
    const run = new Box().holdfast(['ls', '--nonsense', '--json'])
    expect(await run.code()).toBe(64)
    expect(JSON.parse(run.stderr)).toMatchObject({ error: { code: 'USAGE' }, exitCode: 64 })
  })

  it('a state folder that is a file', async () => {
    const box = new Box()
    writeFileSync(box.file('store'), '')
    const run = box.holdfast(['run', 'x', '--', 'true'])
    expect(await run.code()).toBe(78)
  })

  it.each(['__proto__', 'constructor', '../../etc/passwd', 'a b', "it's", '{x}', '%', 'ü€😀', '*'])(
    'a hostile name is just a name: %s',
    async (name) => {
      const box = new Box()
      expect(await box.holdfast(['run', name, '--', 'true']).code()).toBe(0)
      expect(await box.inspect(name)).toBeNull()
    },
  )
})

/** Known to no system, and so without a home. */
const uid = 54_321
const canChangeUser = process.getuid?.() === 0 && strangersCanRun()

if (!canChangeUser) {
  console.log(
    'left out: a user whom the system does not know, which only root can become, and who must be able to run Node',
  )
}

function strangersCanRun(): boolean {
  return spawnSync(process.execPath, [BIN, '--version'], { uid, gid: uid }).status === 0
}

describe.skipIf(!canChangeUser)('a user whom the system does not know', () => {
  it('is named by the number in a steal', async () => {
    const box = new Box()
    chmodSync(box.folder, 0o777)
    const holder = box.holdfast(['run', 'x', '--', 'sh', '-c', 'echo held; read -r _'], { uid })
    await holder.prints('held')
    const run = box.holdfast(['steal', 'x', '--confirm', 'x', '--reason', 'why', '--json'], { uid })
    expect(await run.code()).toBe(0)
    expect(JSON.parse(run.stdout)).toMatchObject({ by: `uid ${uid}@${hostname()}` })
    holder.kill('SIGTERM')
    await holder.code()
  })

  it('learns what to do without a home', async () => {
    const env = { HOLDFAST_STORE: undefined, HOME: undefined, XDG_STATE_HOME: undefined }
    const run = new Box().holdfast(['ls'], { uid, env })
    expect(await run.code()).toBe(78)
    expect(run.stderr).toMatch(/^holdfast: .*Set HOME, or write --store URL\.\n$/)
  })
})

describe('help', () => {
  it.each([
    [['--help']],
    [['help']],
    [['help', 'run']],
    [['run', '--help']],
    [['ls', '-h']],
    [['inspect', '--help']],
    [['release', '--help']],
    [['steal', '--help']],
    [['doctor', '--help']],
  ])('%j', async (args) => {
    const run = new Box().holdfast(args)
    expect(await run.code()).toBe(0)
    expect(run.stdout).toMatch(/^Usage: holdfast/)
    expect(run.stdout.split('\n').every((line) => line.length <= 120)).toBe(true)
  })

  it('--version', async () => {
    const run = new Box().holdfast(['--version'])
    expect(await run.code()).toBe(0)
    expect(run.stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})

describe('holdfast ls and inspect', () => {
  it('say that nothing is held', async () => {
    const box = new Box()
    const run = box.holdfast(['ls'])
    expect(await run.code()).toBe(0)
    expect(run.stdout).toContain('No lock is held or waited for.')
    expect(await box.json(['ls'])).toEqual({
      schemaVersion: 1,
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
      store: box.env.HOLDFAST_STORE,
      locks: [],
      truncated: false,
    })
  })

  it('show the claim ids of other programs without their escape sequences', async () => {
    const box = new Box()
    const store = embeddedStore({ directory: box.file('store') })
    const owner = { clientId: 'c', host: 'h', pid: 1 }
    const claim = {
      lock: 'job',
      kind: 'mutex',
      capacity: CAPACITY_ALL,
      weight: CAPACITY_ALL,
      owner,
    } as const
    const times = { ttlMs: 60_000, heartbeatMs: 1_000 }
    const options = { enqueue: true, tokens: 1 }
    await store.attempt({ ...claim, ...times, id: 'one\u001b[31m' }, options)
    await store.attempt({ ...claim, ...times, id: 'two\u001b[31m' }, options)
    await store.close()
    const shown = box.holdfast(['inspect', 'job'])
    expect(await shown.code()).toBe(0)
    expect(shown.stdout).toMatch(/one\\x1b\[31m[^]*two\\x1b\[31m/)
  })

  it('list by prefix, and show labels without their escape sequences', async () => {
    const box = new Box()
    const first = await box.holder('shop:1', ['--label', 'evil \u001b[31mred'])
    const second = await box.holder('depot:1')
    const listing = box.holdfast(['ls', 'shop:'])
    await listing.code()
    expect(listing.stdout).toContain('evil \\x1b[31mred')
    expect(listing.stdout).not.toContain('depot')
    const { locks } = await box.json<{ locks: { name: string }[] }>(['ls'])
    expect(locks.map(({ name }) => name).toSorted()).toEqual(['depot:1', 'shop:1'])
    const shown = box.holdfast(['inspect', 'shop:1'])
    await shown.code()
    expect(shown.stdout).toMatch(/HELD BY +AS +HELD FOR +TTL LEFT +TOKEN +GROUP +CLAIM +LABEL/)
    for (const holder of [first, second]) holder.kill('SIGTERM')
    await Promise.all([first.code(), second.code()])
  })
})

describe('holdfast inspect --exit-code and --namespace', () => {
  it('exits with 75 for a held lock and with 0 for a free one', async () => {
    const box = new Box()
    expect(await box.holdfast(['inspect', 'job', '--exit-code']).code()).toBe(0)
    const holder = await box.holder('job', ['--namespace', 'shop'])
    expect(await box.holdfast(['inspect', 'shop:job', '--exit-code']).code()).toBe(75)
    const inside = ['inspect', 'job', '--namespace', 'shop']
    expect(await box.holdfast([...inside, '--exit-code']).code()).toBe(75)
    expect(await box.holdfast(inside).code()).toBe(0)
    const listing = box.holdfast(['ls', 'j', '--namespace', 'shop'])
    expect(await listing.code()).toBe(0)
    expect(listing.stdout).toContain('shop:job')
    holder.types('\n')
    expect(await holder.code()).toBe(0)
  })
})

describe('in a terminal of 80 columns', () => {
  it('ls shows names whole and no line is wider, and a pipe gets every column', async () => {
    const box = new Box()
    const name = 'a-very-long-lock-name-for-the-nightly-run-of-the-backup'
    const holder = await box.holder(name, ['--label', 'a long label that needs more room'])
    const terminal = box.inTerminal(['ls'], 80)
    expect(await terminal.code()).toBe(0)
    const lines = stripVTControlCharacters(terminal.screen).split('\r\n')
    expect(lines.slice(2).every((line) => line.length <= 80)).toBe(true)
    expect(terminal.screen).toContain(name)
    expect(terminal.screen).toMatch(/also shows: .*token/)
    const pipe = box.holdfast(['ls'])
    expect(await pipe.code()).toBe(0)
    expect(pipe.stdout).toMatch(new RegExp(`${name} .*a long label that needs more room`))
    holder.types('\n')
    await holder.code()
  })
})

describe('holdfast ls among more locks than it shows', () => {
  it('says that there are more, and how to see fewer', async () => {
    const box = new Box()
    const locks = createLocks(embeddedStore({ directory: box.file('store') }))
    const names = Array.from({ length: 1001 }, (_, number) => `job:${number}`)
    try {
      await Promise.all(names.map((name) => locks.mutex(name).acquire()))
      const all = await box.json<{ locks: unknown[]; truncated: boolean }>(['ls'])
      expect([all.locks.length, all.truncated]).toEqual([1000, true])
      const listing = box.holdfast(['ls'])
      expect(await listing.code()).toBe(0)
      expect(listing.stdout).toMatch(/\nThere are more than these 1000\..*holdfast ls PREFIX\n$/)
      const some = await box.json<{ locks: unknown[]; truncated: boolean }>(['ls', 'job:99'])
      expect([some.locks.length, some.truncated]).toEqual([11, false])
    } finally {
      await locks.close()
    }
  })
})

describe('holdfast steal NAME --claim ID', () => {
  it('ends one claim at once, and its run ends', async () => {
    const box = new Box()
    const holder = await box.holder('job', ['--ttl', '2s'])
    const claim = (await box.inspect('job'))?.holders[0]?.claimId ?? ''
    const steal = box.holdfast(['steal', 'job', '--claim', claim, '--reason', 'why', '--now'])
    expect(await steal.code()).toBe(0)
    expect(steal.stdout).toMatch(/^Took "job" from the claim \S+ \(.*: why\)\. It is free now\./)
    expect(await holder.code()).toBe(74)
    expect(holder.stderr).toContain(': why')
  })

  it('takes a waiter out of the queue, and its run says why', async () => {
    const box = new Box()
    const holder = await box.holder('job')
    const waiter = box.holdfast(['run', 'job', '--', 'true'])
    await box.waiters('job', 1)
    const claim = (await box.inspect('job'))?.waiters[0]?.claimId ?? ''
    const steal = box.holdfast(['steal', 'job', '--claim', claim, '--reason', 'why'])
    expect(await steal.code()).toBe(0)
    expect(steal.stdout).toMatch(/^Took the claim \S+ out of the queue of "job" \(.*: why\)\.\n$/)
    expect(await waiter.code()).toBe(74)
    expect(waiter.stderr).toContain(': why')
    holder.types('\n')
    expect(await holder.code()).toBe(0)
  })
})

function throughShell(box: Box, command: string): Program {
  return new Program('sh', ['-c', command, process.execPath, BIN], { env: box.env })
}

describe('output that cannot be written', () => {
  it.runIf(existsSync('/dev/full'))('is said, and is no success', async () => {
    const run = throughShell(new Box(), '"$0" "$1" ls >/dev/full')
    expect(await run.code()).toBe(78)
    expect(run.stderr).toMatch(/^holdfast: The output could not be written: ENOSPC/)
    const json = throughShell(new Box(), '"$0" "$1" ls --json >/dev/full')
    expect(await json.code()).toBe(78)
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'CONFIG' }, exitCode: 78 })
  })

  it.runIf(existsSync('/dev/full'))('is said also when it is many writes', async () => {
    const run = throughShell(new Box(), '"$0" "$1" lab strategies >/dev/full')
    expect(await run.code()).toBe(78)
    expect(run.stderr).toMatch(/^holdfast: The output could not be written: ENOSPC/)
  })

  it('is said also when a part of it found room', async () => {
    const box = new Box()
    const file = box.file('m.sql')
    // A limit on the size of files cuts a write off just as a disk that is nearly full does; beyond
    // it is EFBIG.
    const sql = '"$0" "$1" migrate --print --store postgres://h/d'
    const run = throughShell(box, `trap '' XFSZ; ulimit -f 16; ${sql} >'${file}'`)
    expect(await run.code()).toBe(78)
    expect(run.stderr).toMatch(/^holdfast: The output could not be written: EFBIG/)
    expect(statSync(file).size).toBe(8192)
  })

  it('is all right when the reader has seen enough', async () => {
    const run = throughShell(new Box(), '{ "$0" "$1" ls; echo "code $?" >&2; } | true')
    expect(await run.code()).toBe(0)
    expect(run.stderr).toBe('code 0\n')
  })
})

describe('holdfast doctor', () => {
  it('finds a sound store', async () => {
    const box = new Box()
    const run = box.holdfast(['doctor'])
    expect(await run.code()).toBe(0)
    expect(run.stdout).toContain(box.env.HOLDFAST_STORE)
    for (const check of [
      'folder',
      'file system',
      'space',
      'round trip',
      'tokens',
      'node',
      'clock',
      'shell',
    ]) {
      expect(run.stdout).toMatch(new RegExp(`ok +${check}`))
    }
    const { checks } = await box.json<{ checks: { verdict: string }[] }>(['doctor'])
    expect(checks.every(({ verdict }) => verdict === 'ok')).toBe(true)
  })

  it('exits with what is wrong', async () => {
    const box = new Box()
    mkdirSync(box.file('x'))
    writeFileSync(box.file('x/file'), '')
    const run = box.holdfast(['doctor', '--store', `embedded:${box.file('x/file')}`])
    expect(await run.code()).toBe(78)
    expect(run.stdout).toMatch(/FAILED +folder/)
  })
})
