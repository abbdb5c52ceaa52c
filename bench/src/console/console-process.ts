/** `holdfast console` as a process of its own, and how long its event loop stood still. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { askForView } from './view.js'

const PROGRAM = fileURLToPath(
  new URL('../../../packages/holdfast/bin/holdfast.cjs', import.meta.url),
)
const METER = new URL('step-meter.js', import.meta.url).href
const ASK_AGAIN_MS = 5
const ALL_SEEN_WITHIN_MS = 300_000

/** Starts the command, and resolves when the first rows have come. */
export async function startConsole(url: string): Promise<ConsoleProcess> {
  const startMs = performance.now()
  const args = ['--import', METER, PROGRAM, 'console', '--store', url]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  const [address] = (await once(
    createInterface(child.stdout as NodeJS.ReadableStream),
    'line',
  )) as [string]
  for (;;) {
    const { table } = await askForView(address)
    if (table.rows.length > 0) break
    await sleep(ASK_AGAIN_MS)
  }
  return new ConsoleProcess(child, address, performance.now() - startMs)
}

export class ConsoleProcess {
  readonly #child: ChildProcess
  /** With the token. */
  readonly address: string
  readonly firstRowsMs: number

  constructor(child: ChildProcess, address: string, firstRowsMs: number) {
    this.#child = child
    this.address = address
    this.firstRowsMs = firstRowsMs
  }

  get pid(): number {
    return this.#child.pid as number
  }

  /** Resolves when the first walk over all locks has ended. */
  async hasSeenAll(): Promise<void> {
    const endMs = performance.now() + ALL_SEEN_WITHIN_MS
    while (performance.now() < endMs) {
      const { totals } = await askForView(this.address)
      if (totals.isComplete) return
      await sleep(1000)
    }
    throw new Error(`The console did not see all locks within ${ALL_SEEN_WITHIN_MS / 1000} s.`)
  }

  /** Resolves to the longest step of its event loop within a time, in milliseconds. */
  async longestStepMs(withinMs: number): Promise<number> {
    await this.#askMeter()
    await sleep(withinMs)
    return (await this.#askMeter()) as number
  }

  async stop(): Promise<void> {
    const exit = once(this.#child, 'exit')
    this.#child.kill()
    await exit
  }

  async #askMeter(): Promise<unknown> {
    const answer = once(this.#child, 'message')
    this.#child.send('next')
    const [said] = (await answer) as [unknown]
    return said
  }
}
