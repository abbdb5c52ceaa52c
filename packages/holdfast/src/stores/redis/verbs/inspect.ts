/** Looking at locks: their names, and what the server says of some of them. */
import type { ListQuery, LockInfo, NamesPage } from '../../../store/contract.js'
import type { Deployment } from '../connection/deployment.js'
import { keyOf, lockOf, patternOf } from '../keys.js'
import { readLock } from '../wire/answers.js'

/** How many locks one script call describes: about half a millisecond of the server. */
const DESCRIBED_TOGETHER = 15

/** A page of names: one step of a scan, which reads keys of all kinds. */
export async function listNames(
  deployment: Deployment,
  prefix: string,
  { prefix: beginning, cursor }: ListQuery,
): Promise<NamesPage> {
  const fullPrefix = deployment.keyPrefix + prefix
  const found = await deployment.scan(patternOf(fullPrefix, beginning), cursor)
  const names = found.keys.flatMap((key) => lockOf(fullPrefix, key) ?? [])
  return { names, cursor: found.cursor }
}

/**
 * Describes locks, in batches that go out one after the other: the server runs other scripts
 * between them.
 * @param ask runs the describing script on some keys
 */
export async function describeLocks(
  { oneLockACall }: Deployment,
  prefix: string,
  locks: readonly string[],
  ask: (keys: readonly string[]) => Promise<unknown>,
): Promise<LockInfo[]> {
  const found: LockInfo[] = []
  for (let start = 0; start < locks.length; start += DESCRIBED_TOGETHER) {
    const some = locks.slice(start, start + DESCRIBED_TOGETHER)
    const keys = some.map((name) => keyOf(prefix, name))
    const replies = oneLockACall
      ? (await Promise.all(keys.map((key) => ask([key])))).flat()
      : ((await ask(keys)) as unknown[])
    found.push(...some.flatMap((lock, index) => readLock(lock, replies[index]) ?? []))
  }
  return found
}
