/** The embedded store: damaged files, and runs that were killed. */
import { spawnSync } from 'node:child_process'
import { chmodSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { BIN, Box } from '../support/holdfast.js'
import { alive, childrenOf } from '../support/processes.js'

const UNPRIVILEGED = 65_534

function databases(box: Box): string[] {
  const folder = box.file('store')
  return readdirSync(folder)
    .filter((name) => name.endsWith('.db'))
    .map((name) => join(folder, name))
}

/** Only root can become another user, who must be allowed to run this very program. */
function canDropRights(): boolean {
  if (process.getuid?.() !== 0) return false
  return spawnSync(process.execPath, [BIN, '--version'], { uid: UNPRIVILEGED }).status === 0
}

if (!canDropRights())
  console.log('left out: a user without rights, which needs root and a Node for all users')

describe('a state file', () => {
  it('that was deleted under a holder is not reported as a full disk', async () => {
    const box = new Box()
    expect(await box.holdfast(['run', 'job', '--', 'true']).code()).toBe(0)
    const holder = await box.holder('job')
    for (const file of databases(box)) rmSync(file)
    const next = box.holdfast(['run', 'job', '--wait', '0', '--', 'true'])
    // An older SQLite refuses the log that is left, a newer one begins with an empty file.
    const code = await next.code()
    expect([0, 69]).toContain(code)
    if (code === 69) expect(next.stderr).toMatch(/deleted or replaced while programs used it/)
    expect(next.stderr).not.toMatch(/full/)
    holder.types('\n')
    await holder.code()
  })

  it.skipIf(!canDropRights())('without rights is named, and not its folder', async () => {
    const box = new Box()
    expect(await box.holdfast(['run', 'job', '--', 'true']).code()).toBe(0)
    chmodSync(box.folder, 0o777)
    for (const name of ['store', 'store/s']) chmodSync(box.file(name), 0o777)
    const denied = box.holdfast(['run', 'job', '--', 'true'], { uid: UNPRIVILEGED })
    expect(await denied.code()).toBe(78)
    expect(denied.stderr).toMatch(/may not read and write the file \S+\.db/)
  })
})

it('no command shows a run as a holder that was killed', async () => {
  const box = new Box()
  const run = await box.holder('job')
  const children = childrenOf(run.pid)
  run.kill('SIGKILL')
  await eventually('guardian and command are gone', () => !children.some(alive))
  expect(await box.holdfast(['inspect', 'job', '--exit-code']).code()).toBe(0)
  expect(await box.json(['ls'])).toMatchObject({ locks: [] })
})
