/**
 * A wall clock for one server alone, which can be set: a small library that is loaded into it, made
 * by the C compiler.
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AnyFaultKind } from './catalogue.js'

const SOURCE = fileURLToPath(new URL('../../native/clock.c', import.meta.url))

/** Whether a fault sets the clock of a server. */
export function needsClock(kinds: readonly AnyFaultKind[]): boolean {
  return (['clock-forward', 'clock-back', 'abandon'] as const).some((kind) => kinds.includes(kind))
}

export class ServerClock {
  readonly #folder = mkdtempSync(join(tmpdir(), 'holdfast-clock-'))
  #offsetNs = 0n

  constructor() {
    // Databases run as users of their own.
    chmodSync(this.#folder, 0o755)
    execFileSync('gcc', ['-shared', '-fPIC', '-O2', '-o', this.#library, SOURCE, '-ldl'], {
      stdio: 'pipe',
    })
    writeFileSync(this.#file, Buffer.alloc(8), { mode: 0o644 })
  }

  /** What the server is started with. */
  get env(): NodeJS.ProcessEnv {
    return { LD_PRELOAD: this.#library, HOLDFAST_CLOCK: this.#file }
  }

  /** Sets the clock, at once. */
  step(byMs: number): void {
    this.#offsetNs += BigInt(Math.round(byMs * 1e6))
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(this.#offsetNs)
    // In place, since the server has the file's page in its memory.
    const file = openSync(this.#file, 'r+')
    writeSync(file, bytes, 0, 8, 0)
    closeSync(file)
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  get #library(): string {
    return join(this.#folder, 'clock.so')
  }

  get #file(): string {
    return join(this.#folder, 'offset')
  }
}
