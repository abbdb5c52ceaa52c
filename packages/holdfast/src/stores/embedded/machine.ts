/**
 * What the processes of one machine have in common: its clock, its boot, and the namespaces they live in.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname, uptime } from 'node:os'

export interface Machine {
  /**
   * Milliseconds on a clock that is the same for all processes of this machine and that nobody can set. It stands still
   * while the machine sleeps. So do all processes that share this store, so no lease ends earlier for one than for
   * another; that is why it is preferred to the uptime, which has a resolution of 10 ms.
   */
  monotonicMs(): number
  /** Milliseconds since the Unix epoch, for tokens and for telling people when. */
  wallMs(): number
  /** Another one means that no process of before can be alive. */
  readonly bootId: string
  /** Two processes in different pid namespaces cannot see each other's process groups. */
  readonly pidNamespace: string
  /** The type of the file system that a path is on, as statfs tells it. */
  fileSystemType?(path: string): number
}

/** `performance.now()` counts from the start of the process; `hrtime` from the boot. Both are CLOCK_MONOTONIC. */
const startMs = hrtimeMs() - performance.now()

function hrtimeMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}

let machine: Machine | undefined

export function thisMachine(): Machine {
  machine ??= {
    monotonicMs: () => startMs + performance.now(),
    wallMs: () => Date.now(),
    bootId: readBootId(),
    pidNamespace: readLink('/proc/self/ns/pid'),
  }
  return machine
}

function readBootId(): string {
  // A process in another time namespace counts from another zero, so it does not belong to the same boot.
  const timeNamespace = readLink('/proc/self/ns/time')
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${timeNamespace}`.trim()
  } catch {
    // Elsewhere than on Linux: the moment of the boot, to the nearest ten minutes since the clock may be set.
    return `${hostname()} ${Math.round((Date.now() / 1000 - uptime()) / 600)}`
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
