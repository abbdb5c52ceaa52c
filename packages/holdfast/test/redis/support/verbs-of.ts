/** Which verbs a call of a script of the Redis store has, one letter for each request. */

/** @param args the command, the script, how many keys there are, the keys, the words */
export function verbsOf([command, , count, ...rest]: readonly unknown[]): string {
  if (!/^eval/i.test(String(command))) return ''
  return verbsOfWords(rest.slice(Number(count)).map(String))
}

/** @param words what a script is given behind its keys; see `rule/*.lua` */
export function verbsOfWords([form = '', first = '', ...rest]: readonly string[]): string {
  if (form.startsWith('j '))
    return [...first.matchAll(/"([arwts])",\d+,/g)].map(([, verb]) => verb).join('')
  if (/^w\d+ /.test(form)) return 'w'.repeat(1 + rest.length)
  if (/^ *\d+ (S?PUBLISH|TOKEN) /.test(form)) return 'a'.repeat(rest.length)
  if (!/^m[ \d]{32} /.test(form)) return ''
  // The TTL shares its number with how many withdrawals there are.
  const withdrawals = Number(form.slice(1, 17)) % 1024
  return 'w'.repeat(withdrawals) + 'a'.repeat(rest.length - withdrawals)
}
