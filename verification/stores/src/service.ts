/** Services, as tests start and stop them. */
import type { RunningService } from './descriptor.js'

const refuse = (): Promise<never> => Promise.reject(new Error('There is no server to stop.'))

/** What has no server, and cannot be down. */
export function withoutServer(at: readonly string[], remove: () => unknown): RunningService {
  return { at, down: refuse, up: refuse, remove: async () => void (await remove()) }
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
