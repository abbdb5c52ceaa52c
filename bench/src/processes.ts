/** Some processes that take and release free locks in one folder, and what they reach together. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEASURED_MS = 1200
const SETTLE_MS = 100
/** A process that has run fewer still compiles: in a given time, four on two cores run fewer. */
const WARM_UP_PAIRS = 15_000

/** Takes and releases locks until the time is over or the pairs are done. Returns the pairs. */
export type Run = (forMs: number, most: number) => Promise<number>

/** Starts a module in each of the processes, with their folder as a last argument. */
export async function leadProcesses(module: string, args: readonly string[]): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  const children = Array.from({ length: Number(args[0]) }, () =>
    fork(module, [...args, directory], { execArgv: process.execArgv }),
  )
  const exits = children.map((child) => once(child, 'exit'))
  await Promise.all(children.map((child) => once(child, 'message')))
  for (const child of children) child.send('go')
  const counts = await Promise.all(children.map((child) => once(child, 'message')))
  await Promise.all(exits)
  rmSync(directory, { recursive: true })
  const totals = counts.map(([count]) => count as [pairs: number, cpuUs: number])
  const pairs = totals.reduce((sum, [its]) => sum + its, 0)
  const cpuUs = totals.reduce((sum, [, its]) => sum + its, 0)
  console.log(JSON.stringify({ pairs: (pairs / MEASURED_MS) * 1000, cpuUsPerPair: cpuUs / pairs }))
}

/** What each of the processes does: warms up, waits for all others, and counts. */
export async function followLeader(run: Run): Promise<void> {
  await run(Infinity, WARM_UP_PAIRS)
  process.send?.('ready')
  await once(process, 'message')
  await run(SETTLE_MS, Infinity)
  const before = process.cpuUsage()
  const pairs = await run(MEASURED_MS, Infinity)
  const { user, system } = process.cpuUsage(before)
  process.send?.([pairs, user + system])
}
