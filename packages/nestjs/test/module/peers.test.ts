/** What the package needs of its user: each package that it loads is a peer of a tested version. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const PACKAGE = join(import.meta.dirname, '../..')
/** Also of types, which only users of that library need: they see them through ours. */
const IMPORT = /(?:from |require\(|import\()'(?!node:)([^'.][^']*)'/g
/** What an application without message handlers, schedules or checks of health does not have. */
const OPTIONAL = ['@nestjs/microservices', '@nestjs/schedule', '@nestjs/terminus']

interface Manifest {
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>
}

const manifest = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as Manifest
const starters = JSON.parse(
  readFileSync(join(PACKAGE, '../../scripts/packages/fixtures/nestjs/versions.json'), 'utf8'),
) as Readonly<Record<string, Readonly<Record<string, string>>>>

test('each package that the sources load is a peer', () => {
  const files = readdirSync(join(PACKAGE, 'src'), { recursive: true, encoding: 'utf8' })
  const sources = files
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(PACKAGE, 'src', file), 'utf8'))
  const loaded = new Set(
    sources.flatMap((source) =>
      Array.from(source.matchAll(IMPORT), ([, name = '']) =>
        name
          .split('/')
          .slice(0, name.startsWith('@') ? 2 : 1)
          .join('/'),
      ),
    ),
  )
  const unlisted = Object.keys(manifest.peerDependencies).filter((name) => !loaded.has(name))
  expect([...loaded].filter((name) => !(name in manifest.peerDependencies))).toEqual([])
  // Its shapes are its own, so that its versions may differ.
  expect(unlisted).toEqual(['@nestjs/terminus'])
  expect(Object.keys(manifest.peerDependenciesMeta)).toEqual(OPTIONAL)
})

test.each(Object.entries(starters))('the peers take the versions of Nest %s', (_, versions) => {
  for (const [name, range] of Object.entries(manifest.peerDependencies)) {
    const version = versions[name]
    if (version === undefined) continue
    expect([name, range, takes(range, Number(version.split('.')[0]))]).toEqual([name, range, true])
  }
})

/** Whether a range such as `>=6 <7 || >=12 <13` takes a major version. */
function takes(range: string, major: number): boolean {
  return range.split(' || ').some((part) => {
    const [, from, before] = /^>=(\d+) <(\d+)$/.exec(part) ?? []
    return Number(from) <= major && major < Number(before)
  })
}
