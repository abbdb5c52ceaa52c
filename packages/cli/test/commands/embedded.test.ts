/** Files of the embedded store that were meddled with: each is told by its own name and for its own reason. */
import { chmodSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Box } from '../support/holdfast.js'

const NOBODY = 65_534

function databases(box: Box): string[] {
  const folder = box.file('store')
  return readdirSync(folder)
    .filter((name) => name.endsWith('.db'))
    .map((name) => join(folder, name))
}

describe('a state file', () => {
  it('that was deleted under a holder is not told as a full disk', async () => {
    const box = new Box()
    expect(await box.holdfast(['run', 'job', '--', 'true']).code()).toBe(0)
    const holder = await box.holder('job')
    for (const file of databases(box)) rmSync(file)
    const next = box.holdfast(['run', 'job', '--wait', '0', '--', 'true'])
    expect(await next.code()).toBe(69)
    expect(next.stderr).toMatch(/deleted or replaced while programs used it/)
    expect(next.stderr).not.toMatch(/full/)
    holder.types('\n')
    await holder.code()
  })

  it.skipIf(process.getuid?.() !== 0)('without rights is named, and not its folder', async () => {
    const box = new Box()
    expect(await box.holdfast(['run', 'job', '--', 'true']).code()).toBe(0)
    chmodSync(box.folder, 0o777)
    for (const name of ['store', 'store/s']) chmodSync(box.file(name), 0o777)
    const denied = box.holdfast(['run', 'job', '--', 'true'], { uid: NOBODY })
    expect(await denied.code()).toBe(78)
    expect(denied.stderr).toMatch(/may not read and write the file \S+\.db/)
  })
})
