/**
 * Makes the packages as users install them, in build/packages.
 *
 * There is one implementation, in CommonJS: Jest cannot `require` ESM, and a second copy in ESM
 * would have classes and async contexts of its own. Each entry has a thin `.mjs` wrapper that
 * exports the same objects. The command of `holdfast` runs on the same files as its library.
 */
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { bundle } from './bundle.mjs'
import { copyDeclarations } from './declarations.mjs'
import { BUILD, ROOT, readJson, writeJson } from './files.mjs'
import { writeWrappers } from './wrappers.mjs'

const COMMAND = join(ROOT, 'packages/cli')
/** Clients that the command loads when their URL is used. */
const CLIENTS = ['ioredis', 'mysql2', 'pg', 'redis', '@photostructure/sqlite', '@holdfast/lab']

/** Makes `holdfast`. @returns {Promise<string>} the folder of the package */
export async function stageLibrary() {
  const target = await stage('holdfast', {
    input: { 'dist/holdfast': join(COMMAND, 'dist/main.js') },
    external: CLIENTS,
    core: 'locks/create.js',
    changes: { bin: { holdfast: 'bin/holdfast.cjs' }, man: ['dist/holdfast.1'] },
  })
  // `dist/run.cjs` is the small file of `holdfast run`; the other commands share the library.
  for (const path of ['bin', 'dist/run.cjs', 'dist/guardian.cjs', 'dist/holdfast.1']) {
    cpSync(join(COMMAND, path), join(target, path), { recursive: true })
  }
  const schema = 'schema/output.v1.json'
  mkdirSync(join(target, dirname(schema)))
  writeFileSync(join(target, schema), JSON.stringify(readJson(join(COMMAND, schema))))
  return target
}

/** Makes `@holdfast/conformance`. @returns {Promise<string>} the folder of the package */
export function stageConformance() {
  return stage('conformance', { input: {}, external: [], changes: {} })
}

/**
 * @param {string} folder of the package, in packages/
 * @param {object} terms
 * @param {Record<string, string>} terms.input further files to bundle, by their names
 * @param {readonly string[]} terms.external further packages that stay imports
 * @param {string} [terms.core] see `bundle`
 * @param {object} terms.changes of the manifest
 */
async function stage(folder, { input, external, core, changes }) {
  const source = join(ROOT, 'packages', folder)
  const target = join(BUILD, folder)
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })

  const manifest = readJson(join(source, 'package.json'))
  const entries = entriesOf(source, manifest)
  const { exported, imports } = await bundle({
    target,
    input: { ...entries, ...input },
    core: core && join(source, 'dist', core),
    external: [...Object.keys(manifest.peerDependencies), ...external],
    resolve: Object.fromEntries(
      Object.entries(entries).map(([name, file]) => [specifierOf(manifest, name), file]),
    ),
  })
  writeWrappers(target, Object.keys(entries), exported)
  for (const [name, file] of Object.entries(entries)) {
    writeTypes(target, name, file.replace(join(source, 'dist'), './types'))
  }
  copyDeclarations(source, Object.values(entries), join(target, 'types'))
  for (const name of ['README.md', 'LICENSE']) cpSync(join(source, name), join(target, name))
  writeJson(
    join(target, 'package.json'),
    published(manifest, Object.keys(entries), { ...changes, ...imports }),
  )
  return target
}

/** Returns the built file of each entry, by the name that stands behind the package's. */
function entriesOf(source, { exports }) {
  const entries = Object.entries(exports).filter(([path]) => path !== './package.json')
  return Object.fromEntries(
    entries.map(([path, { default: file }]) => [
      path === '.' ? 'index' : path.slice(2),
      join(source, file),
    ]),
  )
}

function specifierOf(manifest, name) {
  return name === 'index' ? manifest.name : `${manifest.name}/${name}`
}

/** Writes the types of an entry, for both module systems. */
function writeTypes(target, name, types) {
  // `Symbol.asyncDispose` is in the types of a lease; projects with an older `lib` lack it.
  const declaration = `/// <reference lib="esnext.disposable" />\nexport * from '${types}'\n`
  writeFileSync(join(target, `${name}.d.ts`), declaration)
  writeFileSync(join(target, `${name}.d.mts`), declaration)
}

/** Fields of the manifest that only the repository needs. */
const OWN_FIELDS = ['devDependencies', 'scripts', 'exports', 'files', 'private']

/** Returns the published manifest. Entries at the root serve `moduleResolution: node10`. */
function published(manifest, names, changes) {
  const kept = Object.entries(manifest).filter(([field]) => !OWN_FIELDS.includes(field))
  return {
    ...Object.fromEntries(kept),
    type: 'commonjs',
    main: './index.js',
    module: './index.mjs',
    types: './index.d.ts',
    ...changes,
    exports: {
      ...Object.fromEntries(
        names.map((name) => [name === 'index' ? '.' : `./${name}`, conditionsOf(name)]),
      ),
      './package.json': './package.json',
    },
  }
}

function conditionsOf(name) {
  return {
    import: { types: `./${name}.d.mts`, default: `./${name}.mjs` },
    require: { types: `./${name}.d.ts`, default: `./${name}.js` },
  }
}
