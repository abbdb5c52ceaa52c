/** Compiled code is kept in a folder of the user alone, and a damaged one does no harm. */
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Box } from '../support/holdfast.js'

async function run(box: Box, cache = box.file('cache')): Promise<void> {
  const env = { XDG_CACHE_HOME: cache, NODE_COMPILE_CACHE: undefined }
  const program = box.holdfast(['run', 'job', '--', 'echo', 'ran'], { env })
  expect(await program.code(), program.stderr).toBe(0)
  expect(program.stdout).toBe('ran\n')
}

it('is made for this user alone, and used again', async () => {
  const box = new Box()
  const folder = box.file('cache/holdfast')
  await run(box)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  const made = readdirSync(folder)
  expect(made).toHaveLength(1)
  await run(box)
  expect(readdirSync(folder)).toEqual(made)
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
