/** Returns an address as errors may show it: what stands before its last `@` may be a password. */
export function withoutPassword(address: unknown): string {
  const text = String(address)
  return JSON.stringify(text.slice(text.lastIndexOf('@') + 1))
}
