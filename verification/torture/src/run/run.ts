/** What a run of the library and one of the command line have in common. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { HistoryEvent } from '@holdfast/conformance'
import type { AnyFaultKind, Fault } from '@holdfast/stores/faults/catalogue'
import type { Witnessed } from '../command-line/record.js'
import type { Note, SubjectName } from '../protocol.js'
import type { Tools } from '@holdfast/stores/faults/target'
import { now, type Chronicle } from './chronicle.js'
import type { Ghost } from './ghosts.js'
import type { Wires } from './wires.js'

export interface RunOptions {
  readonly subject: SubjectName
  readonly store: string
  readonly seconds: number
  readonly seed: number
  readonly kinds: readonly AnyFaultKind[]
  /** How many waiters crowd two locks, of all clients together. Default: none. */
  readonly waiters?: number
  /** A folder with a broken copy of the library. */
  readonly copy?: string
  readonly signal: AbortSignal
  readonly progress?: (progress: Progress) => void
}

export interface Progress {
  readonly phase: 'starting' | 'torturing' | 'healed' | 'judging'
  readonly elapsedMs: number
  readonly leases: number
  readonly losses: number
  readonly waiting: number
  readonly faults: number
  readonly present: readonly string[]
}

/** What was seen. */
export interface Outcome {
  readonly plan: readonly Fault[]
  readonly chronicle: Chronicle
  readonly events: readonly HistoryEvent[]
  readonly notes: readonly Note[]
  /** When the faults began, when everything was healed, and until when the run was watched. */
  readonly startNs: bigint
  readonly healedNs: bigint
  readonly watchedNs: bigint
  readonly ghosts: readonly Ghost[]
  /** Of the command line: its runs, and what the witness wrote. */
  readonly witnessed?: Witnessed
}

export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

export interface Run {
  conduct(): Promise<Outcome>
  /** Ends everything that was started, in any state. */
  end(): Promise<void>
}

/** Conducts a run in a temporary folder, and leaves nothing of it. */
export async function inFolder(make: (folder: string) => Run): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-torture-'))
  const run = make(folder)
  try {
    return await run.conduct()
  } finally {
    await run.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns what the faults of a service do to the clients, and note in the chronicle. */
export function toolsOf(wires: Wires, chronicle: Chronicle): Tools {
  return {
    redirect: (server, port) => wires.redirect(server, port),
    move: (server, port) => wires.move(server, port),
    reset: () => wires.reset(),
    confine: (server) => wires.confine(server),
    forgot: (grantedBeforeNs) => void chronicle.losses.push({ grantedBeforeNs, lostNs: now() }),
  }
}
