/** What scripts answer, in the format of `rule/apply-batch.lua`. */
import type { Granted } from 'holdfast/store'

export function grantedLine({
  token,
  tokens,
  ttlMs,
  alreadyGranted,
  remainingMs,
}: Granted): string {
  return `g ${Number(alreadyGranted)} ${token} ${tokens} ${ttlMs.toFixed(3)} ${remainingMs.toFixed(3)}`
}

export function stealReasonText(reason: string | undefined): string {
  return reason === undefined ? '' : JSON.stringify(reason)
}

export function notYet(letter: string, remainingMs: number | undefined): string {
  return remainingMs === undefined ? letter : `${letter} ${Math.max(0, remainingMs).toFixed(3)}`
}
