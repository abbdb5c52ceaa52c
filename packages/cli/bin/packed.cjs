#!/usr/bin/env node
// The command in the published package, where everything is CommonJS. The listeners come before
// everything else is loaded, so that a signal from here on gives a run its status.
'use strict'
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2']
let first
const note = (signal) => void (first ??= signal)
for (const signal of SIGNALS) process.on(signal, note)

const { start } = require('../cli/main.js')
start(() => {
  for (const signal of SIGNALS) process.off(signal, note)
  return first
})
