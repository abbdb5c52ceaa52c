/**
 * The locks that this process runs under, since a run inside a run inside a run knows only the
 * innermost from HOLDFAST_OWNER. They travel in HOLDFAST_HELD, as pairs of name and claim id in
 * JSON, outermost first. Nobody vouches for them: a claim may have ended long ago, and who needs to
 * know asks the store.
 */

export interface HeldLock {
  readonly lock: string
  readonly claimId: string
}

type Env = Readonly<Record<string, string | undefined>>

/**
 * A job that starts itself anew for ever, each time inside the last, must not fill its environment.
 */
const MOST = 64

export function heldAbove(env: Env): HeldLock[] {
  const held = pairsIn(env['HOLDFAST_HELD'] ?? '')
  const [lock, claimId] = [env['HOLDFAST_LOCK_NAME'], env['HOLDFAST_OWNER']]
  if (lock === undefined || claimId === undefined) return held
  // Somebody may have taken one of the variables away, or set only these two.
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
    // Nothing of ours: whatever it is, it names no claim.
    return []
  }
}

function isPair(value: unknown): value is [string, string] {
  return (
    Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string')
  )
}
