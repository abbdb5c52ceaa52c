/** Running the garbage collector, and what it leaves. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  // The first run may only complete a marking that began earlier, and keep what died since then.
  runInNewContext('gc(); gc()')
}

/** Returns how many of these are still reachable. */
export function remaining(things: readonly WeakRef<object>[]): number {
  collectGarbage()
  return things.filter((thing) => thing.deref() !== undefined).length
}
