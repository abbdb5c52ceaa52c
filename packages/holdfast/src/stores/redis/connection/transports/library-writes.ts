/** node-redis writes the commands of a tick in the next `setImmediate`. */
import { setImmediate } from 'node:timers/promises'

/**
 * Resolves when commands are written that are given to the library in this turn of the event loop.
 */
export async function libraryWrites(): Promise<void> {
  // What promises give it comes after the first of these.
  await setImmediate()
  await setImmediate()
}
