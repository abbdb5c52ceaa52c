/**
 * Runs a program of `bench/peers/`: `LIBRARY ADDRESS LOOPS free|hot WARM_UP_MS RUN_MS`. It
 * connects, prints `ready`, and waits for a line. Then its loops acquire and release: each a lock
 * of its own, or all of them the lock `hot`. It prints the pairs a second between warm-up and end,
 * as JSON.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { LANGUAGES, type LanguageName } from './languages.js'
import type { Workload } from './peers.js'

const RUN_MS = 1500
const LONGEST_MS = 120_000

/** Resolves to the pairs a second of all processes, which begin together. */
export async function runPeer(
  library: string,
  language: LanguageName,
  address: string,
  { processes, loops, kind }: Pick<Workload, 'processes' | 'loops' | 'kind'>,
): Promise<number> {
  const { run, warmUpMs } = LANGUAGES[language]
  const [command, ...before] = run
  const args = [library, address, loops, kind, warmUpMs, RUN_MS].map(String)
  const children = Array.from({ length: processes }, () =>
    spawn(command, [...before, ...args], { stdio: ['pipe', 'pipe', 'inherit'] }),
  )
  const timer = setTimeout(() => endAll(children), LONGEST_MS)
  try {
    const answers = children.map((child) => createInterface(child.stdout)[Symbol.asyncIterator]())
    const answer = (): Promise<string[]> =>
      Promise.all(answers.map(async (lines) => (await lines.next()).value ?? ''))
    if ((await answer()).some((line) => line !== 'ready'))
      throw new Error(`${library} did not start.`)
    for (const { stdin } of children) stdin.end('\n')
    const rates = await answer()
    return rates.reduce((sum, line) => sum + pairsIn(library, line), 0)
  } finally {
    clearTimeout(timer)
    endAll(children)
    await Promise.all(children.map(ended))
  }
}

function pairsIn(library: string, line: string): number {
  if (line === '') throw new Error(`${library} ended without a figure.`)
  return (JSON.parse(line) as { pairs: number }).pairs
}

function endAll(children: readonly ChildProcess[]): void {
  for (const child of children) child.kill('SIGKILL')
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}
