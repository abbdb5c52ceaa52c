/**
 * What the processes of one machine have in common: its clock, its boot, and the namespaces they
 * live in.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { systemClock, type Clock } from '../../../clock/clock.js'

export interface Machine {
  /**
   * Milliseconds on a clock that is the same for all processes of this machine and that cannot be
   * set. It stands still while the machine sleeps. So do all processes that share this store, so no
   * lease ends earlier for one than for another. It is preferred to the uptime, which has a
   * resolution of 10 ms.
   */
  monotonicMs(): number
  /** Milliseconds since the Unix epoch, for tokens and for telling people when. */
  wallMs(): number
  /** Calls `fire` after `delayMs`, unless the process has ended. */
  timer: Clock['timer']
  /**
   * Another one means that no process of before can be alive. The same one proves nothing where
   * boots have no name.
   */
  readonly bootId: string
  /** Two processes in different pid namespaces cannot see each other's process groups. */
  readonly pidNamespace: string
  /** The type of the file system that a path is on, as statfs reports it. */
  fileSystemType?(path: string): number
  /** The folder for all users; the usual one when it is not given. */
  readonly systemDirectory?: string
}

/**
 * `performance.now()` counts from the start of the process; `hrtime` from the boot. Both are
 * CLOCK_MONOTONIC.
 */
const startMs = differenceMs() - namespaceOffsetMs()

/**
 * The largest of some looks: a process that loses the processor between the two clocks finds too
 * little.
 */
function differenceMs(): number {
  return Math.max(...Array.from({ length: 8 }, () => hrtimeMs() - performance.now()))
}

function hrtimeMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}

/**
 * A process in another time namespace of Linux counts from another zero; this much more than the
 * others.
 */
function namespaceOffsetMs(): number {
  try {
    const offsets = readFileSync('/proc/self/timens_offsets', 'utf8')
    const [, seconds, nanoseconds] = /^monotonic\s+(-?\d+)\s+(-?\d+)/m.exec(offsets) ?? []
    return Number(seconds ?? 0) * 1000 + Number(nanoseconds ?? 0) / 1e6
  } catch {
    return 0
  }
}

/** The boot, where nothing names it. */
export const UNNAMED_BOOT = 'a boot without a name'

let machine: Machine | undefined

export function thisMachine(): Machine {
  machine ??= {
    monotonicMs: () => startMs + performance.now(),
    wallMs: () => Date.now(),
    timer: (...call) => systemClock.timer(...call),
    bootId: readBootId(),
    pidNamespace: readLink('/proc/self/ns/pid'),
  }
  return machine
}

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // Elsewhere nothing names the boot. A moment computed from clocks that may be set would differ
    // between two processes, and each would void the other's claims. Leases of an earlier boot are
    // known by their times.
    return UNNAMED_BOOT
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
