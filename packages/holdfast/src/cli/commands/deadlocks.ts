/** `holdfast deadlocks`: shows the holders that wait for each other. */
import { findDeadlocks, type Deadlock, type Locks } from '../../index.js'
import { setTimeout as pause } from 'node:timers/promises'
import { NAMESPACE_OPTION, OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { printHelp } from '../args/help.js'
import { operandsOf, prefixOf } from '../args/name.js'
import { parseOptions } from '../args/options.js'
import { EXIT } from '../exit-codes.js'
import { deadlockJson, renderDeadlocks } from '../output/deadlock-page.js'
import { findLocks } from '../output/all-locks.js'
import { printFound } from '../output/found.js'
import { withLocks } from '../stores/with-locks.js'
import type { Command } from './command.js'

const OPTIONS = { ...STORE_OPTIONS, ...NAMESPACE_OPTION, ...OUTPUT_OPTIONS }
/** A deadlock that a second look after this time does not show was not one, or is over. */
const LOOK_AGAIN_MS = 200

export const command: Command = {
  help: {
    usage: 'holdfast deadlocks [PREFIX] [options]',
    about:
      'Shows deadlocks: holders that wait for each other. Exits with 75 when there is one, and with 0 when there is none.',
    options: OPTIONS,
    notes: `
Of the locks whose names begin with PREFIX, or of all. A program shows what it waits for once it has
waited for a second, and within another second it ends one wait of a deadlock by itself. So a
deadlock that stays here has a member that is stopped, or cannot reach the store.`,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    const { values } = parsed
    if (values.help === true) return printHelp(this.help)
    const prefix = prefixOf(operandsOf(parsed), values.namespace)
    return withLocks(values, async (locks, location) => {
      const found = await lookTwice(locks, prefix)
      printFound(values.json === true, location, {
        json: () => ({ deadlocks: found.map(deadlockJson) }),
        page: (options, nowMs) =>
          `Store: ${location.shown} (${location.source})\n\n` +
          renderDeadlocks(found, nowMs, options),
      })
      return found.length > 0 ? EXIT.busy : EXIT.ok
    })
  },
}

/** The locks of one look are read at different moments, so both looks have to show a deadlock. */
async function lookTwice(locks: Locks, prefix: string): Promise<readonly Deadlock[]> {
  const look = async (): Promise<readonly Deadlock[]> =>
    findDeadlocks((await findLocks(locks, prefix)).locks)
  const first = await look()
  if (first.length === 0) return first
  await pause(LOOK_AGAIN_MS)
  const names = new Set(first.map(({ id }) => id))
  return (await look()).filter(({ id }) => names.has(id))
}
