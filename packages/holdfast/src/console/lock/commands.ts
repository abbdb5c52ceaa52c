/** Commands that an operator copies into a shell. */
import type { HolderView, LockView } from '../view.js'

// oxlint-disable-next-line no-control-regex -- control characters are what this looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

/**
 * Returns the commands about a lock. A name with a control character has none but `doctor`: pasted,
 * it could end the paste and run what follows.
 * @param store the option --store, already quoted, or nothing
 */
export function commandsFor(
  lock: string,
  holder: HolderView | undefined,
  store = '',
): LockView['commands'] {
  const doctor = { about: 'doctor', command: `holdfast doctor${store}` } as const
  if (CONTROL.test(lock)) return [doctor]
  // Behind `--`, a name may begin with a dash.
  const name = `${store} -- ${quoted(lock)}`
  const claim = holder === undefined ? undefined : quoted(holder.claimId)
  return [
    { about: 'inspect', command: `holdfast inspect${name}` },
    { about: 'watch', command: `holdfast watch${name}` },
    ...(claim === undefined
      ? []
      : [
          {
            about: 'steal',
            command: `holdfast steal --claim ${claim} --reason ${quoted('why')}${name}`,
          } as const,
        ]),
    doctor,
  ]
}

/** Quotes a word for `sh`: nothing is special between single quotes. */
export function quoted(word: string): string {
  return /^[\w./:@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
