/** `--status-file`: written in one step, and never through a link. */
import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { newStatus, assertStatusFile, writeStatusFile } from '../../../dist/cli/run/status.js'
import { BIN, Box } from '../support/holdfast.js'
import { Program } from '../support/program.js'

const STATUS = newStatus('job', 'embedded:/x')

function write(file: string): void {
  assertStatusFile(file)
  writeStatusFile(file, STATUS)
}

it.each(['a link to a file', 'a link to nothing'])('replaces %s, and not its target', (kind) => {
  const box = new Box()
  const [file, target] = [box.file('status'), box.file('target')]
  if (kind === 'a link to a file') writeFileSync(target, 'kept')
  symlinkSync(target, file)
  write(file)
  expect(lstatSync(file).isFile()).toBe(true)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ lock: 'job' })
  expect(existsSync(target) ? readFileSync(target, 'utf8') : undefined).toBe(
    kind === 'a link to a file' ? 'kept' : undefined,
  )
})

it.each([
  ['a folder', (file: string) => mkdirSync(file), /it is a folder/],
  ['a link to a device', (file: string) => symlinkSync('/dev/null', file), /it is a link/],
  [
    'a link to a pipe',
    (file: string) => {
      execFileSync('mkfifo', [`${file}.pipe`])
      symlinkSync(`${file}.pipe`, file)
    },
    /it is a link/,
  ],
])('refuses %s before the command starts', (_, make, message) => {
  const file = new Box().file('status')
  make(file)
  expect(() => assertStatusFile(file)).toThrow(message)
})

it.each([
  ['a file', '>"$2"; cat "$2"'],
  ['a pipe', '| cat'],
])('writes to /dev/stdout and to a descriptor, which is %s', async (_, where) => {
  for (const [name, redirection] of [
    ['/dev/stdout', ''],
    ['/dev/fd/7', '7>&1'],
  ] as const) {
    const box = new Box()
    const run = `"$0" "$1" run job --status-file ${name} -- echo before ${redirection}`
    const program = new Program(
      'sh',
      ['-c', `{ ${run}; } ${where}`, process.execPath, BIN, box.file('out')],
      { env: box.env },
    )
    expect(await program.code()).toBe(0)
    const [first, second = ''] = program.stdout.trim().split('\n')
    expect(first).toBe('before')
    expect(JSON.parse(second)).toMatchObject({ outcome: 'ran' })
  }
})

it('refuses a descriptor that is not open for output', async () => {
  const box = new Box()
  const run = box.holdfast(['run', 'job', '--status-file', '/dev/fd/77', '--', 'echo', 'ran'])
  expect(await run.code()).toBe(78)
  expect(run.stdout).toBe('')
})

it.runIf(process.platform === 'linux')('refuses a descriptor that only Node has', async () => {
  const status = fileURLToPath(new URL('../../../dist/cli/run/status.js', import.meta.url))
  const script = `
    import { assertStatusFile } from ${JSON.stringify(status)}
    for (let fd = 3; fd < 30; fd += 1) {
      let refused = false
      try { assertStatusFile('/dev/fd/' + fd) } catch { refused = true }
      if (!refused) console.log(fd)
    }`
  const look = new Program(process.execPath, ['--input-type=module', '-e', script])
  expect(await look.code(), look.stderr).toBe(0)
  expect(look.stdout).toBe('')
})
