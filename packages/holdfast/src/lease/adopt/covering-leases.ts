/**
 * Leases that cover a transaction. Their locks stay with it until its commit has ended, so they are
 * not exported: an adopter would work before that.
 */
const covering = new WeakSet()

export function coverTransaction(lease: object): void {
  covering.add(lease)
}

export function coversTransaction(lease: object): boolean {
  return covering.has(lease)
}
