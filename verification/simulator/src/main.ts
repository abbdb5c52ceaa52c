/**
 * `npm run simulate`: the real runtime over a modelled network and store, in virtual time, from a
 * seed.
 *
 * Ends with 0 when every promise was kept, with 1 when one was broken, and with 64 when it was
 * called wrongly.
 */
import { parseCommand, UsageError, USAGE, type Command } from './command.js'
import { simulate } from './simulate.js'

// A pending call keeps its process alive, and those of a simulated process that was killed never
// settle.
process.exit(await main(process.argv.slice(2)))

async function main(args: readonly string[]): Promise<number> {
  let command: Command | 'help'
  try {
    command = parseCommand(args)
    if (command !== 'help') return await simulate(command)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    console.error(`${error.message}\n\n${USAGE}`)
    return 64
  }
  console.log(USAGE)
  return 0
}
