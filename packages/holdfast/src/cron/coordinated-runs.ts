/** The runs of this process that a coordinator of node-cron covers. */
import type { Locks } from '../locks/create.js'

const runs = new WeakMap<Locks, Set<string>>()

/** Notes that a coordinator covers a run. Returns a function that ends that. */
export function markCoordinated(locks: Locks, name: string, slot: Date): () => void {
  const own = runs.get(locks) ?? new Set()
  runs.set(locks, own)
  const key = keyOf(name, slot)
  own.add(key)
  return () => void own.delete(key)
}

export function isCoordinated(locks: Locks, name: string, slot: Date): boolean {
  return runs.get(locks)?.has(keyOf(name, slot)) ?? false
}

function keyOf(name: string, slot: Date): string {
  return `${slot.toISOString()} ${name}`
}
