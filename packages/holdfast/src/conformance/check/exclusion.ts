/**
 * Exclusion: at no moment do the holders of a lock weigh more than its capacity.
 *
 * Sort and sweep: the beginnings and ends of all holds in the order of time, and the weight that is held between them.
 */
import { byKey, type Hold, type Violation } from './holds.js'

interface Edge {
  readonly atNs: bigint
  readonly begins: boolean
  readonly hold: Hold
}

export function checkExclusion(holds: readonly Hold[]): Violation[] {
  const found: Violation[] = []
  for (const [key, its] of byKey(holds)) found.push(...sweep(key, its))
  return found
}

function sweep(key: string, holds: readonly Hold[]): Violation[] {
  const found: Violation[] = []
  const current = new Set<Hold>()
  let weight = 0
  for (const { begins, hold } of edgesOf(holds)) {
    if (!begins) {
      if (current.delete(hold)) weight -= hold.weight
      continue
    }
    current.add(hold)
    weight += hold.weight
    if (weight > hold.capacity) found.push(overlap(key, weight, hold, current))
  }
  return found
}

/** At the same moment ends come first: one may begin just when another ends. Empty holds exclude nobody. */
function edgesOf(holds: readonly Hold[]): Edge[] {
  const edges: Edge[] = []
  for (const hold of holds) {
    if (hold.endNs <= hold.startNs) continue
    edges.push({ atNs: hold.startNs, begins: true, hold }, { atNs: hold.endNs, begins: false, hold })
  }
  return edges.sort((a, b) => {
    if (a.atNs !== b.atNs) return a.atNs < b.atNs ? -1 : 1
    return Number(a.begins) - Number(b.begins)
  })
}

function overlap(key: string, weight: number, hold: Hold, current: ReadonlySet<Hold>): Violation {
  const others = [...current].filter((other) => other !== hold).map(describe)
  return {
    property: 'exclusion',
    key,
    message:
      `"${key}" is held with a weight of ${weight}, of ${hold.capacity}: ` +
      `${describe(hold)} came in beside ${others.join(' and ')}.`,
  }
}

function describe({ client, pid, token, startNs, endNs }: Hold): string {
  const forMs = (Number(endNs - startNs) / 1e6).toFixed(3)
  return `${client} (pid ${pid}, token ${token ?? 'none'}, from ${startNs} for ${forMs} ms)`
}
