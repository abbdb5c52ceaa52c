/** The command that runs the same again. */
import type { RunOptions } from '../run/run.js'

export function commandOf({
  store,
  subject,
  seconds,
  seed,
  kinds,
  waiters = 0,
}: Pick<RunOptions, 'store' | 'subject' | 'seconds' | 'seed' | 'kinds' | 'waiters'>): string {
  const who = subject === 'holdfast' ? '' : ` --subject ${subject}`
  const crowd = waiters === 0 ? '' : ` --waiters ${waiters}`
  return `npm run torture -- --store ${store}${who} --seconds ${seconds} --seed ${seed} --faults ${kinds.join(',') || 'none'}${crowd}`
}
