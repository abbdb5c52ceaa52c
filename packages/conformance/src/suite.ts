/**
 * The conformance suite: cases that every store passes, for any test runner.
 *
 * If the store lacks a trait that a case needs, the case asserts the refusal. A case that is left
 * out has a reason. A subject without a worker or restart must skip the cases that need one, so
 * that no case is left out by mistake.
 */
import assert from 'node:assert/strict'
import type { Case, Need } from './case.js'
import { ALL_CASES } from './cases/index.js'
import { Context } from './context.js'
import { missing, restart, worker } from './needs.js'
import type { Runner, Subject } from './subject.js'
import { realTime } from './time.js'

/** A case for a subject. */
export interface Assignment {
  readonly group: string
  readonly title: string
  /** Why it is left out; undefined when it runs. */
  readonly skipped: string | undefined
  readonly limitMs: number
  /** Whether no other case of the subject may run at the same time. */
  readonly alone: boolean
  run(): Promise<void>
}

/** Returns every case of the suite for the subject. */
export function conformanceCases(subject: Subject): Assignment[] {
  const skips = reasons(subject)
  return ALL_CASES.map((test) => {
    const lacking = missing(test.needs, { subject })
    const skipped = skips.get(test.name) ?? skips.get(test.group) ?? mootReason(lacking)
    const title = lacking?.refused ? `(refused: ${lacking.name}) ${test.name}` : test.name
    return {
      group: test.group,
      title,
      skipped,
      limitMs: test.limitMs(subject),
      // Cases that share a virtual clock would move it under each other.
      alone: test.alone || subject.clock !== undefined,
      run: () => runCase(test, lacking, subject),
    }
  })
}

/** Registers the suite with a test runner: first the cases that may run beside each other. */
export function conformanceSuite(subject: Subject, runner: Runner): void {
  const cases = conformanceCases(subject)
  const together = cases.filter(({ alone }) => !alone)
  const alone = cases.filter((one) => one.alone)
  runner.describe(`conformance of ${subject.name}`, () => {
    registerGroups(together, true, runner)
    registerGroups(alone, false, runner)
  })
}

function registerGroups(cases: readonly Assignment[], concurrent: boolean, runner: Runner): void {
  for (const group of new Set(cases.map((one) => one.group))) {
    const members = (): void => {
      for (const one of cases) if (one.group === group) register(one, runner)
    }
    if (concurrent && runner.describeConcurrent) runner.describeConcurrent(group, members)
    else runner.describe(group, members)
  }
}

function register(one: Assignment, runner: Runner): void {
  if (one.skipped === undefined) runner.test(one.title, () => one.run(), one.limitMs + 1000)
  else runner.skip?.(`${one.title} [left out: ${one.skipped}]`, () => undefined)
}

async function runCase(test: Case, lacking: Need | undefined, subject: Subject): Promise<void> {
  assert.ok(
    lacking?.refused !== undefined || lacking === undefined,
    `"${test.name}" needs a ${lacking?.name}. Give the subject one, or leave the case out with a skip and its reason.`,
  )
  const context = new Context(subject)
  await context.start()
  const run = lacking?.refused?.(context) ?? test.run(context)
  // The limit is in real time, since a virtual clock would not notice a case that hangs.
  await realTime.within(finish(run, context), test.limitMs(subject), `"${test.name}"`)
}

/** Ends the context in every case. The failure of the case comes before one of the end. */
async function finish(run: Promise<void>, context: Context): Promise<void> {
  let failure: { readonly error: unknown } | undefined
  try {
    await run
  } catch (error) {
    failure = { error }
  }
  try {
    await context.end()
  } catch (error) {
    failure ??= { error }
  }
  if (failure) throw failure.error
}

/** Returns why a case does not apply. A missing worker or restart is no reason: it needs a skip. */
function mootReason(lacking: Need | undefined): string | undefined {
  if (!lacking || lacking === worker || lacking === restart) return undefined
  return lacking.moot
}

/**
 * Returns the reasons by the cases and groups that they leave out.
 * @throws AssertionError when a skip has no reason, or names no case or group.
 */
function reasons(subject: Subject): Map<string, string> {
  const known = new Set(ALL_CASES.flatMap(({ name, group }) => [name, group]))
  const found = new Map<string, string>()
  for (const { reason, tests } of subject.skip ?? []) {
    assert.ok(reason.trim() !== '', `a skip of ${subject.name} needs a reason`)
    for (const name of tests) {
      assert.ok(
        known.has(name),
        `${subject.name} skips "${name}", which is neither a case nor a group`,
      )
      found.set(name, reason)
    }
  }
  return found
}
