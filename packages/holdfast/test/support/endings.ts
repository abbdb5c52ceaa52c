/** What a test has opened, ended after it, the last first. */
import { afterEach } from 'vitest'

export type Ending = () => Promise<unknown>

/** For the top of a file: what its tests add is called after each of them, and after those that fail too. */
export function endedAfterEach(): Ending[] {
  const ending: Ending[] = []
  afterEach(async () => {
    for (const end of ending.splice(0).toReversed()) await end()
  })
  return ending
}
