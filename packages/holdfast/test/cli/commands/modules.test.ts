/** Where a command takes code from: never from a folder where another user could have put it. */
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { openToOthers } from '../../../dist/cli/stores/open-to-others.js'
import { Box } from '../support/holdfast.js'
import { Program } from '../support/program.js'

const HERE = fileURLToPath(new URL('../../../', import.meta.url))
const isRoot = process.getuid?.() === 0
/** A folder for packages must not be below a temporary folder, which all users may write to. */
const isPrivate = openToOthers(HERE) === undefined
if (!isPrivate) console.log('left out: working folders, since another user may write to this one')

/** Code that reports that it ran. */
const PLANTED = 'console.log("planted"); process.exit(3)'
/** Nothing answers there, and no test waits for it. */
const ENV = { HOLDFAST_STORE: 'redis://127.0.0.1:1', HOLDFAST_MODULES: undefined }

const folders: string[] = []

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function plant(folder: string): string {
  for (const name of ['ioredis', '@holdfast/lab']) {
    const place = join(folder, 'node_modules', name)
    mkdirSync(place, { recursive: true })
    writeFileSync(join(place, 'index.js'), PLANTED)
    writeFileSync(join(place, 'package.json'), '{}')
  }
  return folder
}

/** The command alone, as if nothing were installed beside it. */
function commandAlone(): string {
  const folder = new Box().folder
  for (const part of ['bin', 'dist', 'package.json'])
    cpSync(join(HERE, part), join(folder, part), { recursive: true })
  return join(folder, 'bin/holdfast.cjs')
}

function start(bin: string, cwd: string, args: readonly string[], uid?: number): Program {
  const user = uid === undefined ? {} : { uid, gid: uid }
  return new Program(process.execPath, [bin, ...args], { cwd, env: { ...ENV }, ...user })
}

describe('a command with its client library beside it', () => {
  it.each([
    [['ls']],
    [['run', 'x', '--wait', '0', '--', 'true']],
    [['doctor']],
    [['lab', 'strategies']],
  ])('%j loads nothing from above the working folder', async (args) => {
    const box = new Box()
    plant(box.folder)
    mkdirSync(box.file('inside'))
    const run = box.holdfast(args, { cwd: box.file('inside'), env: ENV })
    expect(await run.code()).not.toBe(3)
    expect(run.stdout).not.toContain('planted')
  })
})

describe('a command without its client library', () => {
  it('refuses that of a folder to which all users may write, and takes it by --modules', async () => {
    const bin = commandAlone()
    const folder = plant(new Box().folder)
    for (const command of ['ls', 'lab']) {
      const refused = start(bin, folder, [command])
      expect(await refused.code()).toBe(78)
      expect(refused.stderr).toMatch(
        new RegExp(`another user may write to .*--modules ${folder}\n$`),
      )
      expect(await start(bin, '/', [command, '--modules', folder]).code()).toBe(3)
      expect(await start(bin, dirname(folder), [command, `--modules=${folder}`]).code()).toBe(3)
    }
    const inherited = new Program(process.execPath, [bin, 'ls'], {
      env: { ...ENV, HOLDFAST_MODULES: folder },
    })
    expect(await inherited.code()).toBe(3)
  })

  it('refuses an empty --modules, which is the working folder', async () => {
    const bin = commandAlone()
    const folder = plant(new Box().folder)
    for (const command of ['ls', 'lab']) {
      const run = start(bin, folder, [command, '--modules', ''])
      expect(await run.code()).toBe(64)
      expect(run.stderr).toContain('Write: --modules PATH')
    }
  })

  it('refuses a --modules that has no library', async () => {
    const run = start(commandAlone(), '/', ['ls', '--modules', '/etc'])
    expect(await run.code()).toBe(78)
    expect(run.stderr).toMatch(/The folder \/etc of --modules has no package "ioredis" or "redis"/)
  })

  it.runIf(isRoot)('refuses that of another user in a folder above the command', async () => {
    const bin = commandAlone()
    const folder = plant(dirname(dirname(bin)))
    chownSync(join(folder, 'node_modules/ioredis/index.js'), 4321, 4321)
    chownSync(join(folder, 'node_modules/@holdfast/lab/index.js'), 4321, 4321)
    for (const command of ['ls', 'lab']) {
      const run = start(bin, '/', [command])
      expect(await run.code()).toBe(78)
      expect(run.stdout).not.toContain('planted')
      expect(run.stderr).toContain('another user may write to')
    }
  })

  it.runIf(isPrivate)('takes that of a working folder of the caller', async () => {
    const folder = mkdtempSync(join(HERE, 'dist/modules-'))
    folders.push(folder)
    expect(await start(commandAlone(), plant(folder), ['ls']).code()).toBe(3)
    // The group of the caller has no other member here.
    if (isRoot) chmodSync(folder, 0o775)
    expect(await start(commandAlone(), folder, ['ls']).code()).toBe(3)
  })

  it.runIf(isPrivate)('refuses one over a link that another user can point elsewhere', async () => {
    const folder = mkdtempSync(join(HERE, 'dist/modules-'))
    folders.push(folder)
    const safe = plant(join(folder, 'safe'))
    const work = join(folder, 'work')
    const modules = join(work, 'node_modules')
    mkdirSync(modules, { recursive: true })
    symlinkSync(join(safe, 'node_modules/ioredis'), join(modules, 'ioredis'))
    const bin = commandAlone()
    expect(await start(bin, work, ['ls']).code()).toBe(3)
    chmodSync(modules, 0o757)
    const run = start(bin, work, ['ls'])
    expect(await run.code()).toBe(78)
    expect(run.stderr).toContain(`another user may write to ${modules}.`)
  })

  it('refuses one above the command over a link that another user can point elsewhere', async () => {
    const bin = commandAlone()
    const safe = plant(new Box().folder)
    const above = join(dirname(dirname(bin)), 'node_modules')
    mkdirSync(above)
    symlinkSync(join(safe, 'node_modules/ioredis'), join(above, 'ioredis'))
    expect(await start(bin, '/', ['ls']).code()).toBe(3)
    chmodSync(above, 0o777)
    const run = start(bin, '/', ['ls'])
    expect(await run.code()).toBe(78)
    expect(run.stderr).toContain(`another user may write to ${above}.`)
  })

  it.runIf(isRoot)('refuses that of another user, also for root', async () => {
    // The other user may not even enter a clone in the home folder of root.
    const folder = mkdtempSync('/var/lib/holdfast-modules-')
    folders.push(folder)
    plant(folder)
    const bin = commandAlone()
    chmodSync(dirname(dirname(bin)), 0o755)
    for (const change of [
      () => chownSync(folder, 4321, 0),
      () => chmodSync(folder, 0o757),
      () => {
        chownSync(folder, 0, 4321)
        chmodSync(folder, 0o775)
      },
    ]) {
      chownSync(folder, 0, 0)
      chmodSync(folder, 0o755)
      change()
      const run = start(bin, folder, ['ls'])
      expect(await run.code()).toBe(78)
      expect(run.stderr).toContain(`another user may write to ${folder}.`)
    }
    chownSync(folder, 4321, 4321)
    // Its own folder, whose group may write as well.
    expect(await start(bin, folder, ['ls'], 4321).code()).toBe(3)
    expect(await start(bin, folder, ['ls'], 1234).code()).toBe(78)
  })
})
