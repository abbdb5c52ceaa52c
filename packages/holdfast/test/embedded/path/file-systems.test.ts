/** Names that a file system takes as equal, mounts, and namespaces. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lockPath } from 'holdfast/embedded'
import { describe, expect, test } from 'vitest'
import { isFull } from '../../../../../test/support/plan.js'
import { makeDirectory } from '../support/world.js'
import { folded } from '../../../dist/stores/embedded/folder/path-name.js'
import { canMount, mounted } from './support/mounts.js'
import { PathWorker } from './support/workers.js'

describe('the compared form of a name', () => {
  const every = Array.from({ length: 0x110000 }, (_, code) => code)
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code))
    .filter((text) => [text.toLowerCase(), text.normalize('NFD')].some((other) => other !== text))

  test('is one for all cases and forms of a character', () => {
    const apart = every.filter((text) => {
      const form = folded(text)
      const others = [text.toLowerCase(), text.toUpperCase(), text.normalize('NFD'), form]
      return others.some((other) => folded(other) !== form)
    })
    expect(apart).toEqual([])
  })

  test('is one for characters that Unicode takes as equal without regard to case', () => {
    const lower = every.map((text) => text.toLowerCase())
    const all = [...new Set([...every, ...lower])].join('')
    const apart = every.flatMap((text) =>
      Array.from(all.matchAll(new RegExp(text, 'giu')), ([other]) => [text, other]).filter(
        ([one = '', other = '']) => folded(one) !== folded(other),
      ),
    )
    expect(apart).toEqual([])
    expect(folded('Straße')).toBe(folded('STRASSE'))
    expect(folded('ΑΣ')).toBe(folded('ας'))
    expect(folded('a\u00adb')).toBe(folded('AB'))
    expect(folded('a.txt')).not.toBe(folded('a.text'))
  })
})

describe.skipIf(!canMount || !isFull())('a file system', () => {
  test('that ignores case has one lock for all cases and forms of a name', async () => {
    const folder = makeDirectory()
    await lockPath(join(folder, 'any')).run(() => undefined)
    mkdirSync(join(folder, '.HOLDFAST'))
    // So its folder has two names that differ in case, as in such a file system.
    const under = mounted('mount --bind "$1/.holdfast" "$1/.HOLDFAST"', folder)
    const worker = new PathWorker({ under })
    for (const [held, other] of [
      ['File', 'fILE'],
      ['é', 'E\u0301'],
      ['ß', 'SS'],
    ]) {
      await worker.ask('acquire', { path: join(folder, String(held)) })
      expect(await worker.ask('tryAcquire', { path: join(folder, String(other)) })).toEqual({
        granted: false,
      })
    }
    expect(await worker.ask('tryAcquire', { path: join(folder, 'File2') })).toEqual({
      granted: true,
    })
  })

  test.each(['folder', 'file'])('a %s that is mounted there is refused', async (kind) => {
    const folder = makeDirectory()
    const [path, source] = [join(folder, 'a b'), join(folder, 'source')]
    for (const each of [path, source])
      if (kind === 'folder') mkdirSync(each)
      else writeFileSync(each, '')
    const worker = new PathWorker({ under: mounted('mount --bind "$1" "$2"', source, path) })
    expect(await worker.ask('acquire', { path })).toMatchObject({
      code: 'STORE_CONFIG',
      message: expect.stringContaining('something is mounted there'),
    })
    if (kind === 'folder')
      expect(await worker.ask('tryAcquire', { path: join(path, 'file') })).toEqual({
        granted: true,
      })
  })

  test('two containers with pids of their own share a folder at two paths', async () => {
    const [folder, one, other] = [makeDirectory(), makeDirectory(), makeDirectory()]
    const container = (point: string): PathWorker =>
      new PathWorker({
        under: [
          ...mounted('mount --bind "$1" "$2"', folder, point),
          ...['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'],
        ],
      })
    const [holder, waiter] = [container(one), container(other)]
    // So that no descriptor has the number that it has in the other process.
    await holder.ask('acquire', { path: join(makeDirectory(), 'file') })
    const { name } = await holder.ask('acquire', { path: join(one, 'file') })
    expect(await waiter.ask('tryAcquire', { path: join(other, 'file') })).toEqual({
      granted: false,
    })
    const acquired = waiter.ask('acquire', { path: join(other, 'file') })
    await holder.kill()
    const beganMs = performance.now()
    expect(await acquired).toMatchObject({ name })
    // Without proof of the death it would have to wait for 30 s.
    expect(performance.now() - beganMs).toBeLessThan(10_000)
  })
})
