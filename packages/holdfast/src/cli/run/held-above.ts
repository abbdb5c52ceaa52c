/**
 * The locks of all runs around this process. HOLDFAST_OWNER names only the innermost; HOLDFAST_HELD
 * lists all as JSON pairs of name and claim id, outermost first. They are hints: a claim may have
 * ended long ago, and only the store knows.
 */

export interface HeldLock {
  readonly lock: string
  readonly claimId: string
}

type Env = Readonly<Record<string, string | undefined>>

/**
 * A job that starts itself again forever, each time inside the last, must not fill its environment.
 */
const MOST = 64

export function heldAbove(env: Env): HeldLock[] {
  const held = pairsIn(env['HOLDFAST_HELD'] ?? '')
  const [lock, claimId] = [env['HOLDFAST_LOCK_NAME'], env['HOLDFAST_OWNER']]
  if (lock === undefined || claimId === undefined) return held
  // A caller may have removed one of the variables, or set only these two.
  return [...held.filter((one) => one.claimId !== claimId), { lock, claimId }]
}

export function heldText(held: readonly HeldLock[]): string {
  return JSON.stringify(held.slice(-MOST).map(({ lock, claimId }) => [lock, claimId]))
}

function pairsIn(text: string): HeldLock[] {
  try {
    const pairs = JSON.parse(text) as unknown
    return Array.isArray(pairs)
      ? pairs.filter(isPair).map(([lock, claimId]) => ({ lock, claimId }))
      : []
  } catch {
    // The text is not Holdfast's, so it names no claim.
    return []
  }
}

function isPair(value: unknown): value is [string, string] {
  return (
    Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string')
  )
}
