/** Returns a count and a word, which has its plural unless the count is one. */
export function several(count: string, one: string): string {
  return count === '1' ? `1 ${one}` : `${count} ${one}s`
}
