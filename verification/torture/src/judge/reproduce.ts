/** The command that runs the same again. */
import type { RunOptions } from '../run/conduct.js'

export function commandOf({
  store,
  subject,
  seconds,
  seed,
  kinds,
}: Pick<RunOptions, 'store' | 'subject' | 'seconds' | 'seed' | 'kinds'>): string {
  const who = subject === 'holdfast' ? '' : ` --subject ${subject}`
  return `npm run torture -- --store ${store}${who} --seconds ${seconds} --seed ${seed} --faults ${kinds.join(',') || 'none'}`
}
