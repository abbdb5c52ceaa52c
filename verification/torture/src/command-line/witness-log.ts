/** The log that the commands write, read while it grows. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { now } from '../run/chronicle.js'
import type { Line } from './record.js'

const NS_PER_S = 1_000_000_000
const CHUNK = 65_536

export class WitnessLog {
  readonly lines: Line[] = []
  readonly #file: number
  readonly #offsetNs: bigint
  readonly #entered = new Set<string>()
  readonly #buffer = Buffer.alloc(CHUNK)
  #rest = ''

  constructor(folder: string) {
    this.#file = openSync(join(folder, 'log'), 'a+')
    this.#offsetNs = offsetOfUptime()
  }

  /** Reads what is new. */
  read(): void {
    for (;;) {
      const length = readSync(this.#file, this.#buffer, 0, CHUNK, null)
      if (length === 0) return
      const texts = (this.#rest + this.#buffer.toString('latin1', 0, length)).split('\n')
      this.#rest = texts.pop() ?? ''
      for (const text of texts) this.#add(parseLine(text, this.#offsetNs))
    }
  }

  entered(run: string): boolean {
    return this.#entered.has(run)
  }

  get enteredCount(): number {
    return this.#entered.size
  }

  close(): void {
    closeSync(this.#file)
  }

  #add(line: Line): void {
    this.lines.push(line)
    if (line.kind === 'ENTER') this.#entered.add(line.run)
  }
}

function parseLine(text: string, offsetNs: bigint): Line {
  const [uptime = '', kind, run = '', token = '-', pid = '', rest = ''] = text.split(' ')
  if (kind !== 'ENTER' && kind !== 'OVERLAP' && kind !== 'EXIT')
    throw new Error(`The witness wrote: ${text}`)
  return {
    atNs: BigInt(Math.round(Number(uptime) * NS_PER_S)) + offsetNs,
    kind,
    run,
    token: token === '-' ? undefined : BigInt(token),
    pid: Number(pid),
    rest,
  }
}

/**
 * What a shell can read without another process counts in hundredths of a second: the shared clock
 * less that one.
 */
function offsetOfUptime(): bigint {
  const before = uptime()
  let after = before
  while (after === before) after = uptime()
  return now() - BigInt(Math.round(after * NS_PER_S))
}

function uptime(): number {
  return Number(readFileSync('/proc/uptime', 'latin1').split(' ')[0])
}
