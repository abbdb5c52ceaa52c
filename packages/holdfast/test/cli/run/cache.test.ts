/** Compiled code is kept in a folder of the user alone, and a damaged one does no harm. */
import { chmodSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Box } from '../support/holdfast.js'

async function start(
  box: Box,
  args: readonly string[],
  printed: RegExp,
  cache = box.file('cache'),
): Promise<void> {
  const env = { XDG_CACHE_HOME: cache, NODE_COMPILE_CACHE: undefined }
  const program = box.holdfast(args, { env })
  expect(await program.code(), program.stderr).toBe(0)
  expect(program.stdout).toMatch(printed)
}

const run = (box: Box, cache?: string): Promise<void> =>
  start(box, ['run', 'job', '--', 'echo', 'ran'], /^ran\n$/, cache)
const list = (box: Box): Promise<void> => start(box, ['ls'], /^No lock is held/m)

it.each([['run', run] as const, ['ls', list] as const])(
  'is made for this user alone, and used again: %s',
  async (name, command) => {
    const box = new Box()
    const folder = box.file('cache/holdfast')
    await command(box)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    const made = readdirSync(folder)
    const bundle = name === 'run' ? 'run-' : 'holdfast-'
    // Node 22 and later keep the code of client libraries in a folder beside it.
    expect(made.filter((file) => file.startsWith(bundle))).toHaveLength(1)
    expect(made.length).toBeLessThanOrEqual(name === 'run' ? 1 : 2)
    await command(box)
    expect(readdirSync(folder)).toEqual(made)
  },
)

it('of one bundle does not displace that of another', async () => {
  const box = new Box()
  await run(box)
  const ofRun = readdirSync(box.file('cache/holdfast'))
  await list(box)
  expect(readdirSync(box.file('cache/holdfast'))).toEqual(expect.arrayContaining(ofRun))
})

it('of one installation does not displace those of three others', async () => {
  const box = new Box()
  const folder = box.file('cache/holdfast')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const others = [1, 2, 3, 4, 5].map((age) => {
    const name = `run-${process.version}-${process.arch}-${age}`
    writeFileSync(join(folder, name), '')
    utimesSync(join(folder, name), 1_000_000_000 - age, 1_000_000_000 - age)
    return name
  })
  await run(box)
  const left = readdirSync(folder)
  expect(left.filter((name) => others.includes(name))).toEqual(others.slice(0, 3))
  expect(left).toHaveLength(4)
})

it('is left alone when other users may write to it', async () => {
  const box = new Box()
  const folder = box.file('cache/holdfast')
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o777)
  await run(box)
  expect(readdirSync(folder)).toEqual([])
})

it('is made again when it is damaged', async () => {
  const box = new Box()
  const folder = box.file('cache/holdfast')
  await run(box)
  for (const file of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (file.isFile()) writeFileSync(join(file.parentPath, file.name), 'damaged')
  }
  await run(box)
  await run(box)
})

it('is not needed where no folder can be made', async () => {
  await run(new Box(), '/proc/none')
})
