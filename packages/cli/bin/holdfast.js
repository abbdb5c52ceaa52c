#!/usr/bin/env node
// The listeners come before everything else is loaded, so that a signal from here on gives a run
// its status.
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2']
let first
const note = (signal) => void (first ??= signal)
for (const signal of SIGNALS) process.on(signal, note)

const { existsSync } = await import('node:fs')
// The bundle starts sooner (see scripts/bundle.mjs); a tree that was only compiled runs from its
// parts.
const bundle = new URL('../dist/holdfast.js', import.meta.url)
const { start } = await import(existsSync(bundle) ? bundle.href : '../dist/main.js')
await start(() => {
  for (const signal of SIGNALS) process.off(signal, note)
  return first
})
