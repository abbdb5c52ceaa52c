/** Which verbs a call of a script of the Redis store has, one letter for each request. */

/** @param args the command, the script, how many keys there are, the keys, the words */
export function verbsOf([command, , count, ...rest]: readonly unknown[]): string {
  if (!String(command).startsWith('EVAL')) return ''
  return verbsOfWords(rest.slice(Number(count)).map(String))
}

/** @param words what a script is given behind its keys; see `rule/*.lua` */
export function verbsOfWords([, ...words]: readonly string[]): string {
  const [kind = '', first = ''] = words
  if (kind === 'j') return [...first.matchAll(/"([arwts])",\d+,/g)].map(([, verb]) => verb).join('')
  if (kind === 'w') return 'w'.repeat(words.length - 1)
  if (/^[a-z]{2}/.test(kind)) return ''
  const attempts = words.length - words.findIndex((word) => word.startsWith('[')) - 1
  if (kind !== 'm') return 'a'.repeat(attempts)
  // The TTL shares its word with the number of withdrawals.
  const withdrawals = Number(first) % 1024
  return 'w'.repeat(withdrawals) + 'a'.repeat(attempts - withdrawals)
}
