#!/usr/bin/env node
'use strict'
// The listeners come first, so that a signal from here on gives a run its status.
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2']
let first
const note = (signal) => void (first ??= signal)
for (const signal of SIGNALS) process.on(signal, note)

const {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} = require('node:fs')
const Module = require('node:module')
const path = require('node:path')

const dist = path.join(__dirname, '../dist')
/** The number of installations whose compiled code stays. */
const OTHER_CACHES = 3
const SILENT = { throwIfNoEntry: false }

function takeSignal() {
  for (const signal of SIGNALS) process.off(signal, note)
  return first
}

/** Whether this is a run on the embedded store. A small file serves it (see scripts/bundle.mjs). */
function isEmbeddedRun([command, ...args], env) {
  if (command !== 'run') return false
  const end = args.indexOf('--')
  const own = end === -1 ? args : args.slice(0, end)
  const at = own.findLastIndex((arg) => arg === '--store' || arg.startsWith('--store='))
  const { HOLDFAST_STORE = '', HOLDFAST_CONFIG = '/etc/holdfast.json' } = env
  const store = at === -1 ? HOLDFAST_STORE : own[at] === '--store' ? own[at + 1] : own[at].slice(8)
  // The settings of the machine may name another store.
  if (store === '' && existsSync(HOLDFAST_CONFIG)) return false
  return store === '' || /^embedded:/i.test(store)
}

/**
 * The folder for compiled code. It must belong to this user alone: another user could put other
 * code into a shared one. Undefined without such a folder; then the start takes a little longer.
 */
function cacheFolder({ HOME = '', XDG_CACHE_HOME = '' }) {
  const base = XDG_CACHE_HOME.startsWith('/') ? XDG_CACHE_HOME : HOME && path.join(HOME, '.cache')
  if (!base.startsWith('/')) return undefined
  const folder = path.join(base, 'holdfast')
  try {
    // Not recursive: Node 20 never returns where mkdir answers ENOENT for good, such as in /proc.
    for (const made of [base, folder]) {
      if (existsSync(made)) continue
      // Root with the HOME of another user would leave files there that this user cannot change.
      if (statSync(path.dirname(made)).uid !== process.getuid()) return undefined
      mkdirSync(made, { mode: 0o700 })
    }
    const found = lstatSync(folder)
    const isOurs = found.isDirectory() && found.uid === process.getuid() && !(found.mode & 0o077)
    return isOurs ? folder : undefined
  } catch {
    return undefined
  }
}

/** Removes the oldest caches of other installations. Projects may have one each, and take turns. */
function forgetOthers(folder, prefix) {
  const ages = readdirSync(folder).flatMap((name) => {
    const found = name.startsWith(prefix) && statSync(path.join(folder, name), SILENT)
    return found ? [{ name, ms: found.mtimeMs }] : []
  })
  for (const { name } of ages.toSorted((a, b) => b.ms - a.ms).slice(OTHER_CACHES)) {
    rmSync(path.join(folder, name), { force: true })
  }
}

/**
 * Loads a bundle, with the code that V8 compiled until the last run ended. Node's own cache keeps
 * only what it compiles at once, and a run compiles most functions later. The bundle cannot import
 * modules.
 */
function loadCompiled(file, folder) {
  const { Script } = require('node:vm')
  const { size, mtimeMs } = statSync(file)
  const { version, arch, pid } = process
  const prefix = `${path.basename(file, '.cjs')}-${version}-${arch}-`
  const cache = path.join(folder, `${prefix}${size}-${mtimeMs}`)
  const cachedData = existsSync(cache) ? readFileSync(cache) : undefined
  const script = new Script(Module.wrap(readFileSync(file, 'utf8')), { filename: file, cachedData })
  if (cachedData === undefined || script.cachedDataRejected) {
    process.on('exit', () => {
      try {
        forgetOthers(folder, prefix)
        writeFileSync(`${cache}.${pid}`, script.createCachedData(), { mode: 0o600 })
        renameSync(`${cache}.${pid}`, cache)
      } catch {
        // The next start compiles again.
      }
    })
  }
  const loaded = { exports: {} }
  const load = script.runInThisContext()
  load(loaded.exports, Module.createRequire(file), loaded, file, path.dirname(file))
  return loaded.exports
}

const folder = process.env.NODE_COMPILE_CACHE === undefined ? cacheFolder(process.env) : undefined
const isEmbedded = isEmbeddedRun(process.argv.slice(2), process.env)
// Node 22 and later. It serves the client libraries of stores, and the lab, which is a module.
if (folder !== undefined && !isEmbedded) Module.enableCompileCache?.(folder)

const bundle = path.join(dist, isEmbedded ? 'bin/run.cjs' : 'bin/holdfast.cjs')
const keepsCode = folder !== undefined && !process.argv.slice(2, 4).includes('lab')
// A tree that was only compiled has the parts of the bundle.
const program = existsSync(bundle) ? bundle : path.join(dist, 'cli/main.js')
void (keepsCode ? loadCompiled(program, folder) : require(program)).start(takeSignal)
