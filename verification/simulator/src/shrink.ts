/**
 * Makes a failing case smaller while it still breaks the same promise: fewer faults, fewer clients,
 * fewer operations, a shorter run. What is left is the story to tell.
 */
import type { Case } from './case.js'
import type { ActorScript } from '@holdfast/workload'

/** Runs a case and says whether it still breaks the promise. */
export type StillFails = (plan: Case) => Promise<boolean>

/** A cut: the case without something, or undefined when there is nothing left to cut. */
type Cut = (plan: Case, at: number, count: number) => Case | undefined

export interface ShrinkLimits {
  readonly mostRuns: number
}

export async function shrink(
  plan: Case,
  stillFails: StillFails,
  { mostRuns }: ShrinkLimits,
): Promise<Case> {
  const search = new Search(plan, stillFails, mostRuns)
  for (let before: Case | undefined; before !== search.best && search.goesOn;) {
    before = search.best
    await search.shorten()
    await search.thin(({ faults }) => faults.length, withoutFaults)
    await search.thin(({ actors }) => actors.length, withoutActors)
    for (let actor = 0; actor < search.best.actors.length; actor += 1) {
      await search.thin(
        (best) => best.actors[actor]?.operations.length ?? 0,
        withoutOperations(actor),
      )
    }
    await search.thin(({ actors }) => actors.length, plainOperations)
  }
  return search.best
}

class Search {
  best: Case
  #runs = 0
  readonly #mostRuns: number
  readonly #stillFails: StillFails

  constructor(plan: Case, stillFails: StillFails, mostRuns: number) {
    this.best = plan
    this.#stillFails = stillFails
    this.#mostRuns = mostRuns
  }

  get goesOn(): boolean {
    return this.#runs < this.#mostRuns
  }

  /** Cuts away halves, quarters and so on of a list, down to single entries. */
  async thin(length: (plan: Case) => number, cut: Cut): Promise<void> {
    for (let count = Math.ceil(length(this.best) / 2); count >= 1 && this.goesOn;) {
      for (let at = 0; at < length(this.best) && this.goesOn;) {
        const kept = await this.#try(cut(this.best, at, count))
        if (!kept) at += count
      }
      if (count === 1) return
      count = Math.ceil(count / 2)
    }
  }

  /** Ends the run earlier; the faults after that go with it. */
  async shorten(): Promise<void> {
    for (const share of [0.3, 0.5, 0.7, 0.85, 0.95]) {
      const durationMs = Math.ceil(this.best.durationMs * share)
      const faults = this.best.faults
        .filter(({ atMs }) => atMs < durationMs)
        .map((fault) => ({ ...fault, forMs: Math.min(fault.forMs, durationMs - fault.atMs) }))
      if (await this.#try({ ...this.best, durationMs, faults })) return
    }
  }

  async #try(candidate: Case | undefined): Promise<boolean> {
    if (!candidate || !this.goesOn) return false
    this.#runs += 1
    if (!(await this.#stillFails(candidate))) return false
    this.best = candidate
    return true
  }
}

function without<Item>(items: readonly Item[], at: number, count: number): Item[] {
  return [...items.slice(0, at), ...items.slice(at + count)]
}

const withoutFaults: Cut = (plan, at, count) => ({
  ...plan,
  faults: without(plan.faults, at, count),
})

const withoutActors: Cut = (plan, at, count) => ({
  ...plan,
  actors: without(plan.actors, at, count),
})

function withoutOperations(actor: number): Cut {
  return (plan, at, count) => {
    const script = plan.actors[actor]
    if (!script) return undefined
    return withActor(plan, actor, { ...script, operations: without(script.operations, at, count) })
  }
}

/** Takes the twists and heirs out of all operations of some actors. */
const plainOperations: Cut = (plan, at, count) => {
  let changed = false
  const actors = plan.actors.map((script, index) => {
    if (index < at || index >= at + count) return script
    const operations = script.operations.map((operation) => {
      const { twist, nested, heirs } = operation
      if (twist === 'none' && !nested && heirs.length === 0) return operation
      changed = true
      return { ...operation, twist: 'none' as const, nested: undefined, heirs: [] }
    })
    return { ...script, operations }
  })
  return changed ? { ...plan, actors } : undefined
}

function withActor(plan: Case, at: number, script: ActorScript): Case {
  return { ...plan, actors: plan.actors.map((actor, index) => (index === at ? script : actor)) }
}
