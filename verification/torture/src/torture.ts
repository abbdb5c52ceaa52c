/**
 * Runs what the command line asks for, shows how it goes, and ends with a verdict for each promise.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { formatEvent } from '@holdfast/conformance'
import type { Command } from './command.js'
import { conductCommandLine } from './command-line/conduct.js'
import { linkModules } from './command-line/mutations.js'
import { leftOutOf, shapeOf } from './command-line/shape.js'
import { judgeCommandLine } from './command-line/judge.js'
import { drawPlan } from './faults/plan.js'
import { needNetwork, type AnyFaultKind } from '@holdfast/stores/faults/catalogue'
import { judge } from './judge/judge.js'
import type { JudgedRun } from './judge/judged-run.js'
import { isBroken } from './judge/judgement.js'
import type { TortureMutation } from './mutation.js'
import { brokenCopyOf, MUTATIONS } from './mutations.js'
import type { SubjectName } from './protocol.js'
import { type Progress } from './run/run.js'
import { conduct } from './run/conduct.js'
import { report } from './report/report.js'
import { enterOwnNetwork } from './run/own-network.js'
import { preflight } from './run/preflight.js'
import { cellsOf, keep } from './record.js'
import { storeOf } from '@holdfast/stores'
import { showPlan, showProgress, showVerdicts } from './show.js'

export async function torture(command: Command, signal: AbortSignal): Promise<number> {
  if (command.plan) {
    for (const store of command.stores) plan(command, store)
    return 0
  }
  for (const store of command.stores) {
    const leftOut = command.subjects.includes('command-line') ? leftOutOf(store) : undefined
    if (leftOut !== undefined) console.log(leftOut)
  }
  for (const store of command.stores) preflight(store, command.faultsFor(store), command.subjects)
  if (command.stores.some((store) => needNetwork(command.faultsFor(store)))) {
    const status = await enterOwnNetwork(signal)
    if (status !== undefined) return status
  }
  const runs: JudgedRun[] = []
  for (const store of command.stores) {
    for (const subject of command.subjects) {
      for (const [cell, kinds] of runsOf(command, store, subject)) {
        const ran = await tryOne(command, { store, subject, kinds }, signal)
        runs.push(ran)
        console.log(showVerdicts(ran))
        if (command.record) keep(cell, ran)
      }
    }
  }
  write(command, runs)
  return runs.some(isBroken) ? 1 : 0
}

function plan({ seconds, seed, subjects, faultsFor }: Command, store: string): void {
  const kinds = faultsFor(store)
  const { contenders: clients, ttlMs } = shapeOf(store)
  const shape = subjects.includes('command-line') ? { clients, ttlMs } : {}
  console.log(
    showPlan(store, drawPlan({ seed, seconds, kinds, ...storeOf(store).torture, ...shape })),
  )
}

/** One run with all the faults; or, to be recorded, one for each cell of the guarantees. */
function runsOf(
  command: Command,
  store: string,
  subject: SubjectName,
): [string, readonly AnyFaultKind[]][] {
  return command.record ? cellsOf(command, store, subject) : [['', command.faultsFor(store)]]
}

async function tryOne(
  command: Command,
  what: Pick<JudgedRun['options'], 'store' | 'subject' | 'kinds'>,
  signal: AbortSignal,
): Promise<JudgedRun> {
  const { seconds, seed, waiters, mutation: name } = command
  const mutation = MUTATIONS.find((one) => one.name === name)
  const copy = mutation && brokenCopy(mutation)
  const options = { ...what, seconds, seed, waiters, ...(copy === undefined ? {} : { copy }) }
  try {
    return await runOnce(options, signal)
  } finally {
    if (copy !== undefined) rmSync(copy, { recursive: true, force: true })
    showProgress(undefined, options)
  }
}

function brokenCopy(mutation: TortureMutation): string {
  const copy = brokenCopyOf(mutation)
  if (mutation.of === undefined) linkModules(copy)
  return copy
}

export async function runOnce(
  options: JudgedRun['options'],
  signal: AbortSignal,
): Promise<JudgedRun> {
  const all = {
    ...options,
    signal,
    progress: (progress: Progress) => showProgress(progress, options),
  }
  const outcome = await (options.subject === 'command-line'
    ? conductCommandLine(all)
    : conduct(all))
  const { witnessed } = outcome
  const judgement = witnessed
    ? judgeCommandLine(options, { ...outcome, witnessed })
    : judge(options, outcome)
  return { options, outcome, judgement }
}

function write({ history, report: file }: Command, runs: readonly JudgedRun[]): void {
  const last = runs.at(-1)
  if (history !== undefined && last) {
    writeFileSync(history, last.outcome.events.map((event) => `${formatEvent(event)}\n`).join(''))
    console.log(`history: ${history}`)
  }
  if (file !== undefined) {
    writeFileSync(file, report(runs))
    console.log(`report: ${file}`)
  }
}
