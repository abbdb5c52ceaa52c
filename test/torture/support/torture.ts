/** Runs the command as users do, with a folder of its own for everything temporary. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../../verification/torture/dist/main.js', import.meta.url))

export interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
  /** Files that were left behind. */
  readonly left: readonly string[]
  /** Processes that were left behind, by what they were called with. */
  readonly running: readonly string[]
  /** File systems that were left mounted. */
  readonly mounted: readonly string[]
}

export interface Running {
  readonly child: ChildProcess
  /** Resolves when it has printed this on its stderr. */
  said(text: string): Promise<void>
  readonly ended: Promise<Ended>
}

/**
 * In front of a command that root runs as a user without rights. That user keeps one: to read
 * files, since the repository and this Node may lie below root's home.
 */
export const WITHOUT_RIGHTS = [
  'setpriv',
  ...['--reuid', '65534', '--clear-groups'],
  ...['--inh-caps', '+dac_read_search', '--ambient-caps', '+dac_read_search'],
]

/** @param before a command that runs this one */
export function start(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  before: readonly string[] = [],
): Running {
  // Short, since sockets live in it.
  const folder = mkdtempSync(join(tmpdir(), 'hft-'))
  // Databases run as users of their own, and write temporary files as well.
  chmodSync(folder, 0o1777)
  const [program = '', ...programArgs] = [...before, process.execPath, MAIN, ...args]
  const child = spawn(program, programArgs, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: folder, ...env },
  })
  const printed = { stdout: '', stderr: '' }
  let heard: (() => void) | undefined
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text
      heard?.()
    })
  }
  const ended = once(child, 'close').then(([status]): Ended => {
    heard?.()
    const left = readdirSync(folder)
    const mounted = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .filter((line) => line.includes(folder))
    rmSync(folder, { recursive: true, force: true })
    return {
      status: status as number | null,
      ...printed,
      left,
      running: processesOf(folder),
      mounted,
    }
  })
  return {
    child,
    async said(text) {
      while (
        !printed.stderr.includes(text) &&
        child.exitCode === null &&
        child.signalCode === null
      ) {
        await new Promise<void>((resolve) => (heard = resolve))
      }
    },
    ended,
  }
}

export function torture(...args: string[]): Promise<Ended> {
  return start(args).ended
}

/** Servers and clients are called with paths in the folder. */
function processesOf(folder: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(commandLine)
    .filter((line) => line.includes(folder))
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    // It ended meanwhile.
    return ''
  }
}
