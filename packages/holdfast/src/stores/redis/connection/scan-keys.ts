import { textOf } from '../wire/answers.js'

/** How many keys the server looks at in one step of a scan. */
const SCAN_COUNT = '1000'

/** All keys of one server that fit a pattern. Some may come twice. */
export async function scanKeys(
  pattern: string,
  scan: (...args: string[]) => Promise<unknown>,
): Promise<string[]> {
  const found: string[] = []
  let cursor = '0'
  do {
    const reply = await scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT)
    const [next, keys] = reply as [unknown, unknown[]]
    found.push(...keys.map(textOf))
    cursor = textOf(next)
  } while (cursor !== '0')
  return found
}
