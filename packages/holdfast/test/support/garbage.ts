/** What the garbage collector leaves. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** How many of these are still in somebody's hands. */
export function remaining(things: readonly WeakRef<object>[]): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc()')
  return things.filter((thing) => thing.deref() !== undefined).length
}
