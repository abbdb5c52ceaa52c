#!/usr/bin/env node
'use strict'
// The listeners come first, so that a signal from here on gives a run its status.
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2']
let first
const note = (signal) => void (first ??= signal)
for (const signal of SIGNALS) process.on(signal, note)

const { existsSync, lstatSync, mkdirSync } = require('node:fs')
const path = require('node:path')

const dist = path.join(__dirname, '../dist')

function takeSignal() {
  for (const signal of SIGNALS) process.off(signal, note)
  return first
}

/** Whether this is a run on the embedded store. A small file serves it (see scripts/bundle.mjs). */
function isEmbeddedRun([command, ...args], inherited = '') {
  if (command !== 'run') return false
  const end = args.indexOf('--')
  const own = end === -1 ? args : args.slice(0, end)
  const at = own.findLastIndex((arg) => arg === '--store' || arg.startsWith('--store='))
  const store = at === -1 ? inherited : own[at] === '--store' ? own[at + 1] : own[at].slice(8)
  return store === '' || /^embedded:/i.test(store)
}

/**
 * Has Node keep compiled code, where it can: in a folder that belongs to this user alone. Another
 * user could put other code into a shared one.
 */
function useCompileCache({ HOME = '', XDG_CACHE_HOME = '', NODE_COMPILE_CACHE }) {
  const { enableCompileCache } = require('node:module')
  if (enableCompileCache === undefined || NODE_COMPILE_CACHE !== undefined) return
  const base = XDG_CACHE_HOME.startsWith('/') ? XDG_CACHE_HOME : HOME && path.join(HOME, '.cache')
  if (!base.startsWith('/')) return
  const folder = path.join(base, 'holdfast')
  try {
    if (!existsSync(folder)) mkdirSync(folder, { recursive: true, mode: 0o700 })
    const found = lstatSync(folder)
    const isOurs = found.isDirectory() && found.uid === process.getuid() && !(found.mode & 0o077)
    if (isOurs) enableCompileCache(folder)
  } catch {
    // Without a cache the start takes a little longer.
  }
}

useCompileCache(process.env)
const small = path.join(dist, 'run.cjs')
if (isEmbeddedRun(process.argv.slice(2), process.env.HOLDFAST_STORE) && existsSync(small)) {
  void require(small).start(takeSignal)
} else {
  // A tree that was only compiled runs from its parts.
  const bundle = path.join(dist, 'holdfast.js')
  const entry = existsSync(bundle) ? bundle : path.join(dist, 'main.js')
  const { pathToFileURL } = require('node:url')
  void import(pathToFileURL(entry).href).then(({ start }) => start(takeSignal))
}
