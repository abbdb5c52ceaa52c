/**
 * Refuses a store that is not built like the others. docs/internals/architecture.md lists the files
 * and rooms of a store. A room imports only what stands below it in that list.
 *
 * - The root of a store has only files and rooms of the list.
 * - A room of one file is a file, and a folder has at most a dozen files of TypeScript.
 * - A store imports no other store but the one that it is built on. That is a folder which the
 *   package does not export, or the exported store that BELOW names.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

const STORES = 'packages/holdfast/src/stores'
const PAGE = 'docs/internals/architecture.md'
const PACKAGE = 'packages/holdfast/package.json'
/** The exported store on which another one is built. */
const BELOW = { redlock: 'redis' }
const MOST_FILES = 12

const storeNames = readdirSync(STORES)
const { exports: entries } = JSON.parse(readFileSync(PACKAGE, 'utf8'))
const shared = new Set(storeNames.filter((store) => !Object.hasOwn(entries, `./${store}`)))
const list = /## Rooms of a store\n.*?```\n(.*?)```/s.exec(readFileSync(PAGE, 'utf8'))?.[1] ?? ''
const listed = [...list.matchAll(/^([\w-]+)(\.ts|\/)/gm)].map(([, name, kind]) => ({ name, kind }))
const order = listed.map(({ name }) => name)
const fileOnly = new Set(listed.filter(({ kind }) => kind === '.ts').map(({ name }) => name))

const findings = order.length > 0 ? storeNames.flatMap(checkStore) : [`${PAGE} lists no rooms`]
for (const finding of findings) console.error(finding)
console.log(`rooms: ${findings.length} findings in ${storeNames.length} stores`)
process.exitCode = findings.length === 0 ? 0 : 1

/** @param {string} store */
function checkStore(store) {
  const root = join(STORES, store)
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  return [
    ...checkRooms(root, files),
    ...checkFolders(files),
    ...checkBelow(files.filter(isSource), store),
    ...files.filter(isSource).flatMap((file) => checkArrows(file, store)),
  ]
}

/**
 * @param {readonly string[]} files
 * @param {string} store
 */
function checkBelow(files, store) {
  const others = files.flatMap((file) =>
    targetsOf(file).flatMap((target) => {
      const other = storeOf(target)
      return other === undefined || other === store ? [] : [{ file, other }]
    }),
  )
  const below = BELOW[store] ?? others.find(({ other }) => shared.has(other))?.other
  return others
    .filter(({ other }) => other !== below || shared.has(store))
    .map(({ file, other }) => `${file}: ${store} does not stand on ${other}`)
}

/**
 * @param {string} root
 * @param {readonly string[]} files
 */
function checkRooms(root, files) {
  const entries = files.map((file) => relative(root, file).split('/')[0] ?? '')
  return [...new Set(entries)].flatMap((entry) => {
    const path = join(root, entry)
    const isFolder = !entry.endsWith('.ts')
    const name = entry.replace(/\.ts$/, '')
    if (!order.includes(name)) return [`${path}: ${PAGE} has no such room`]
    if (isFolder && fileOnly.has(name)) return [`${path}: is a file in each store`]
    const isAlone = entries.filter((other) => other === entry).length === 1
    return isFolder && isAlone ? [`${path}: a room of one file is a file`] : []
  })
}

/** @param {readonly string[]} files */
function checkFolders(files) {
  const folders = files.filter(isSource).map((file) => dirname(file))
  return [...new Set(folders)].flatMap((folder) => {
    const count = folders.filter((other) => other === folder).length
    return count > MOST_FILES
      ? [`${folder}: ${count} files of TypeScript, at most ${MOST_FILES}`]
      : []
  })
}

/**
 * @param {string} file
 * @param {string} store
 */
function checkArrows(file, store) {
  const root = join(STORES, store)
  const room = roomOf(file, root)
  return targetsOf(file).flatMap((target) => {
    if (storeOf(target) !== store) return []
    const below = roomOf(target, root)
    if (order.indexOf(below) >= order.indexOf(room)) return []
    return [`${file}: ${room} imports ${below}, which stands above it`]
  })
}

/** Returns what a file imports by path, types included. */
function targetsOf(file) {
  const specifiers = readFileSync(file, 'utf8').matchAll(
    /(?:from|import|require)\s*\(?'(\.[^']+)'/g,
  )
  return [...specifiers].map(([, specifier]) => join(dirname(file), specifier))
}

/** Returns the store of a file, or undefined where it is in none. */
function storeOf(file) {
  return file.startsWith(`${STORES}/`) ? relative(STORES, file).split('/')[0] : undefined
}

/** Returns the room of a file: the first name of its path in the store. */
function roomOf(file, root) {
  return relative(root, file)
    .split('/')[0]
    ?.replace(/\.(ts|js)$/, '')
}

function isSource(file) {
  return file.endsWith('.ts') && !file.endsWith('.generated.ts')
}
