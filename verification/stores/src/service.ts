/** Services, as tests start and stop them. */
import type { Store } from 'holdfast/store'
import type { OpenStore, RunningService } from './descriptor.js'

const refuse = (): Promise<never> => Promise.reject(new Error('There is no server to stop.'))

/** What has no server, and cannot be down. */
export function withoutServer(at: readonly string[], remove: () => unknown): RunningService {
  return { at, down: refuse, up: refuse, remove: async () => void (await remove()) }
}

/** Restarts the first of the members: the others may go on. */
export async function restartFirst([first]: readonly Member[]): Promise<void> {
  await first?.crash()
  await first?.start()
}

interface Member {
  crash(): Promise<unknown>
  start(): Promise<unknown>
}

/** Members that are down and up together. */
export function ofMembers(
  at: readonly string[],
  members: readonly Member[],
  remove: () => Promise<unknown>,
): RunningService {
  return {
    at,
    down: () => Promise.all(members.map((member) => member.crash())),
    up: () => Promise.all(members.map((member) => member.start())),
    remove,
  }
}

/** A store over a pool, which connects with the first request. */
export function connected(store: Store, end: () => Promise<void>): OpenStore {
  return { store, ready: () => Promise.resolve(store.inspect(['warm'])), end }
}
