/**
 * One increment of the counter that a lock protects. The holder reads, goes home, and writes one
 * more than it read: without exclusion and without a fence an increment is lost.
 */
import type { HistoryNote } from '@holdfast/conformance'

/** The protected resource. It refuses a token smaller than one it has seen. */
export interface Resource {
  read(key: string, owner: string, token: bigint | undefined): Promise<number | undefined>
  /** @returns whether the write was accepted, and the fence where the resource shows it */
  write(
    key: string,
    owner: string,
    token: bigint | undefined,
    value: number,
  ): Promise<{ readonly accepted: boolean; readonly fence?: bigint }>
}

export interface Incrementer {
  readonly key: string
  readonly owner: string
  readonly token: bigint | undefined
  /** Whether it still believes that it holds the lock. */
  readonly believes: () => boolean
  readonly note: (note: HistoryNote) => void
}

export async function increment(resource: Resource, holder: Incrementer): Promise<void> {
  const { key, owner, token, believes, note } = holder
  const shown = token === undefined ? {} : { token }
  note({ key, f: 'read', type: 'invoke', ...shown })
  const value = await resource.read(key, owner, token)
  if (value === undefined) note({ key, f: 'read', type: 'fail', ...shown })
  else note({ key, f: 'read', type: 'ok', value, ...shown })
  if (value === undefined || !believes()) return
  const write = { key, f: 'write', value: value + 1, ...shown } as const
  note({ type: 'invoke', ...write })
  const { accepted, fence } = await resource.write(key, owner, token, value + 1)
  note({ type: accepted ? 'ok' : 'fail', ...write, ...(fence === undefined ? {} : { fence }) })
}
