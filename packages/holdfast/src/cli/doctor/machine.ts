/** Checks what the command line needs of this machine with any store. */
import { spawnSync } from 'node:child_process'
import { uptime } from 'node:os'
import { formatDuration } from '../args/duration.js'
import { failure, ok, warning, type Finding } from './check.js'

export function checkMachine(): Finding[] {
  return [
    ok('node', `${process.version} on ${process.platform} ${process.arch}`),
    checkClock(),
    checkShell(),
  ]
}

/** Leases on one machine end by the time since its boot, which no time server can set. */
function checkClock(): Finding {
  const now = new Date()
  const since = `up for ${formatDuration(uptime() * 1000)}`
  if (now.getUTCFullYear() < 2024) {
    return warning(
      'clock',
      `it says ${now.toISOString()}; tokens grow with the time, so set the clock (${since})`,
    )
  }
  return ok('clock', `${now.toISOString()}, ${since}`)
}

/** The gate of `run` is this shell. The guardian is another program where it has to be. */
function checkShell(): Finding {
  const startedMs = performance.now()
  const { status, error } = spawnSync('/bin/sh', ['-c', 'exit 0'])
  if (status === 0)
    return ok('shell', `/bin/sh starts in ${(performance.now() - startedMs).toFixed(1)} ms`)
  return failure('shell', {
    code: 'STORE_CONFIG',
    message: `/bin/sh does not start (${error?.message ?? status}); run needs it`,
  })
}
