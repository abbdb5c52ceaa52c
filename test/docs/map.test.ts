/** The pages for contributors name files and folders that exist. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const LEASE = 'packages/holdfast/src/lease'
const FILE = /(?<![\w/.-])(?:[\w-]+\/)*[\w-]+\.(?:ts|mjs|lua|md)\b/g
const FOLDER = /^( *)([\w-]+(?:\/[\w-]+)*\/)/

const tracked = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n')
const folders = new Set(tracked.flatMap(foldersOf))

test('architecture.md names only files that exist', () => {
  const named = namedFiles('docs/internals/architecture.md')
  expect(named.length).toBeGreaterThan(80)
  expect(named.filter((name) => !tracked.some((path) => endsIn(path, name)))).toEqual([])
})

test('architecture.md names each file of the lease runtime', () => {
  const named = new Set(namedFiles('docs/internals/architecture.md').map((name) => basename(name)))
  const files = tracked.filter((path) => path.startsWith(`${LEASE}/`)).map((path) => basename(path))
  expect(files.length).toBeGreaterThan(40)
  expect(files.filter((name) => !named.has(name))).toEqual([])
})

test('a room of the lease runtime imports only the rooms that architecture.md lists below it', () => {
  const rooms = listedRooms()
  expect(rooms.length).toBeGreaterThan(10)
  const files = tracked.filter((path) => path.startsWith(`${LEASE}/`))
  expect(files.map(roomOf).filter((room) => !rooms.includes(room))).toEqual([])
  const upward = files.flatMap((path) =>
    importsOf(path)
      .filter((target) => rooms.indexOf(roomOf(target)) < rooms.indexOf(roomOf(path)))
      .map((target) => `${path} imports ${target}`),
  )
  expect(upward).toEqual([])
})

test('CONTRIBUTING.md names only files that exist', () => {
  const named = namedFiles('CONTRIBUTING.md').filter((name) => !name.includes('NAME'))
  expect(named.filter((name) => !tracked.some((path) => endsIn(path, name)))).toEqual([])
})

test('the map of CONTRIBUTING.md names only folders that exist', () => {
  const mapped = mappedFolders()
  expect(mapped.length).toBeGreaterThan(20)
  expect(mapped.filter((folder) => !folders.has(folder))).toEqual([])
})

test('the map of CONTRIBUTING.md names each folder of the library', () => {
  const mapped = new Set(mappedFolders())
  const rooms = [...folders].filter((folder) => dirname(folder) === 'packages/holdfast/src')
  expect(rooms.filter((folder) => !mapped.has(folder))).toEqual([])
})

function namedFiles(page: string): string[] {
  return readFileSync(page, 'utf8').match(FILE) ?? []
}

/** Returns the rooms of the lease runtime as architecture.md lists them, from the top down. */
function listedRooms(): string[] {
  const page = readFileSync('docs/internals/architecture.md', 'utf8')
  const list = /## Rooms\n+```\n(.*?)```/s.exec(page)?.[1] ?? ''
  return [...list.matchAll(/^([\w-]+)(?:\/|\.ts)/gm)].map(([, room]) => room ?? '')
}

/** Returns the folder of a file below the lease runtime; its own name where it has none. */
function roomOf(path: string): string {
  return path.slice(LEASE.length + 1).split(/\/|\.ts/)[0] ?? ''
}

/** Returns the files of the lease runtime that a file imports, types included. */
function importsOf(path: string): string[] {
  const specifiers = readFileSync(path, 'utf8').matchAll(/from '(\.[^']+)\.js'/g)
  return [...specifiers]
    .map(([, specifier]) => `${join(dirname(path), specifier ?? '')}.ts`)
    .filter((target) => target.startsWith(`${LEASE}/`))
}

/** Returns the folders of the map, each with the folders around it. */
function mappedFolders(): string[] {
  const map = /## The house\n+```\n(.*?)```/s.exec(readFileSync('CONTRIBUTING.md', 'utf8'))?.[1]
  const around: { indent: number; path: string }[] = []
  return (map ?? '').split('\n').flatMap((line) => {
    const [, spaces = '', name = ''] = FOLDER.exec(line) ?? []
    if (name === '' || spaces.length > 4) return []
    while ((around.at(-1)?.indent ?? -1) >= spaces.length) around.pop()
    const path = [around.at(-1)?.path, name.slice(0, -1)].filter(Boolean).join('/')
    around.push({ indent: spaces.length, path })
    return [path]
  })
}

function foldersOf(path: string): string[] {
  const parts = dirname(path).split('/')
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}

function endsIn(path: string, name: string): boolean {
  return path === name || path.endsWith(`/${name}`)
}
