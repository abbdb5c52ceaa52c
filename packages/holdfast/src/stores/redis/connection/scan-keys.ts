import { textOf } from '../wire/answers.js'

/** How many keys the server looks at in one step of a scan. */
const SCAN_COUNT = '1000'
const BEGINNING = '0'

/** What one step of a scan found. */
export interface ScannedKeys {
  /** Some keys may come twice. */
  readonly keys: readonly string[]
  /** Where the next step begins. Undefined after the last one. */
  readonly cursor: string | undefined
}

/** Finds keys of one server that fit a pattern, one step of a scan. */
export async function scanKeys(
  pattern: string,
  cursor: string | undefined,
  scan: (...args: string[]) => Promise<unknown>,
): Promise<ScannedKeys> {
  const reply = await scan(cursor ?? BEGINNING, 'MATCH', pattern, 'COUNT', SCAN_COUNT)
  const [next, keys] = reply as [unknown, unknown[]]
  const after = textOf(next)
  return { keys: keys.map(textOf), cursor: after === BEGINNING ? undefined : after }
}
