/** Which verbs a call of a script of the Redis store has, one letter for each request. */

/** @param args the command, the script, how many keys there are, the keys, the words */
export function verbsOf([command, , count, ...rest]: readonly unknown[]): string {
  if (!String(command).startsWith('EVAL')) return ''
  return verbsOfWords(rest.slice(Number(count)).map(String))
}

/** @param words what a script is given behind its keys; see `rule/*.lua` */
export function verbsOfWords([, ...words]: readonly string[]): string {
  if (/^[a-z]/.test(words[0] ?? '')) return ''
  const at = words.findIndex((word) => word.startsWith('['))
  const first = words[0] ?? ''
  if (at === 0) return [...first.matchAll(/"([arwts])",\d+,/g)].map(([, verb]) => verb).join('')
  if (at < 0) return 'w'.repeat(words.length - 1)
  const ids = words.length - at - 1
  const released = at === 2 ? 0 : Number(first)
  return 'w'.repeat(released) + 'a'.repeat(ids - released)
}
