/** Fetches the newest servers with apt, and prints which versions it found. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { newestFolder, newestVersion, VERSION_FILE, type NewestServer } from './newest.js'

const SUITE = 'sid'
const APT = '/etc/apt'
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
/** By what Node calls the processor: the folder of the libraries, and the loader in it. */
const LOADERS: Partial<Record<NodeJS.Architecture, readonly [folder: string, loader: string]>> = {
  x64: ['x86_64-linux-gnu', 'ld-linux-x86-64.so.2'],
  arm64: ['aarch64-linux-gnu', 'ld-linux-aarch64.so.1'],
}
/** Where packages have their programs; PostgreSQL has a folder for each version. */
const PROGRAM_FOLDERS = ['usr/bin', 'usr/sbin']
const POSTGRES = 'usr/lib/postgresql'

/**
 * Fetches servers, also those that are there already. Puts each in its place only when it is
 * complete.
 */
export function fetchNewest(servers: readonly NewestServer[]): void {
  mkdirSync(newestFolder(), { recursive: true })
  const work = mkdtempSync(join(newestFolder(), 'fetch-'))
  try {
    // Its files are read by servers that run as other users.
    chmodSync(work, 0o755)
    const options = aptOptions(work)
    apt([...options, 'update'])
    for (const server of servers) {
      fetchOne(server, work, options)
      console.log(`${server.name} ${newestVersion(server)}`)
    }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** An apt of its own, which takes nothing for installed and so brings every library along. */
function aptOptions(work: string): string[] {
  for (const folder of ['lists/partial', 'cache/archives/partial']) {
    mkdirSync(join(work, folder), { recursive: true })
  }
  writeFileSync(join(work, 'status'), '')
  writeFileSync(
    join(work, 'sources.list'),
    `deb [signed-by=${KEYRING}] ${mirror()} ${SUITE} main\n`,
  )
  const settings = {
    'Dir::Etc::sourcelist': join(work, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State::lists': join(work, 'lists'),
    'Dir::Cache': join(work, 'cache'),
    'Dir::State::status': join(work, 'status'),
    'Debug::NoLocking': '1',
    'APT::Sandbox::User': 'root',
  }
  return ['-qq', ...Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])]
}

/** Where this machine gets its own packages from. */
function mirror(): string {
  const files = [join(APT, 'sources.list'), ...filesIn(join(APT, 'sources.list.d'))]
  for (const file of files.filter((one) => existsSync(one))) {
    const found = /^(?:URIs:|deb(?: \[[^\]]*\])?) *(\S+)/m.exec(readFileSync(file, 'utf8'))
    if (found?.[1] !== undefined) return found[1]
  }
  throw new Error('No source of packages in /etc/apt: this needs Debian.')
}

function fetchOne(server: NewestServer, work: string, options: readonly string[]): void {
  const { name: title, packages, versionOf } = server
  const archives = join(work, 'cache/archives')
  // One after the other: some packages refuse each other as neighbours, which does not matter here.
  for (const name of packages) {
    apt([...options, '-y', '--no-install-recommends', '--download-only', 'install', name])
  }
  const root = join(work, title)
  mkdirSync(root)
  const debs = readdirSync(archives).filter((name) => name.endsWith('.deb'))
  for (const deb of debs) {
    execFileSync('dpkg', ['-x', join(archives, deb), root], { stdio: 'pipe' })
    rmSync(join(archives, deb))
  }
  const versions = filesIn(join(root, POSTGRES)).map((folder) => join(folder, 'bin'))
  for (const folder of [...PROGRAM_FOLDERS.map((one) => join(root, one)), ...versions]) {
    wrapAll(root, folder, title)
  }
  const version = debs.find((name) => versionOf.test(name))?.split('_')[1]
  if (version === undefined) throw new Error(`No package of ${title} was found.`)
  writeFileSync(join(root, VERSION_FILE), `${decodeURIComponent(version)}\n`)
  const place = join(newestFolder(), title)
  rmSync(place, { recursive: true, force: true })
  renameSync(root, place)
}

/** Programs start with their own loader and libraries, and find their files from where they are. */
function wrapAll(root: string, folder: string, server: string): void {
  const [libraries, loader] = LOADERS[process.arch] ?? []
  if (libraries === undefined) throw new Error(`The processor ${process.arch} is not known here.`)
  const place = join(newestFolder(), server)
  const library = join(place, 'usr/lib', libraries)
  // Before anything is changed: some programs are links to others, and do as the name says by which
  // they were called.
  const programs = filesIn(folder)
    .filter(needsLoader)
    .map((path) => ({ path, real: realpathSync(path) }))
  for (const { path, real } of programs) if (path === real) renameSync(real, `${real}.elf`)
  for (const { path, real } of programs) {
    const [at, elf] = [path, `${real}.elf`].map((one) => join(place, one.slice(root.length)))
    const line = `exec ${library}/${loader} --library-path ${library} --argv0 ${at} ${elf} "$@"`
    rmSync(path, { force: true })
    writeFileSync(path, `#!/bin/sh\n${line}\n`, { mode: 0o755 })
  }
}

function filesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []
}

function needsLoader(program: string): boolean {
  if (!existsSync(program) || !statSync(program).isFile()) return false
  const start = readFileSync(program).subarray(0, 4096)
  return start.subarray(1, 4).toString() === 'ELF' && start.includes('/ld-linux')
}

function apt(args: readonly string[]): void {
  execFileSync('apt-get', args, { stdio: ['ignore', 'pipe', 'inherit'] })
}
