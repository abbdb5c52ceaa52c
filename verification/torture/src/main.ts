/**
 * `npm run torture`: the real library on real servers under real faults, judged by the published
 * checkers.
 */
import { parseCommand, UsageError, USAGE, type Command } from './command.js'
import { Interrupted } from './run/run.js'
import { MissingError } from './run/preflight.js'
import { torture } from './torture.js'

const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (!stopping.signal.aborted) console.error(`\n${signal}: undoing everything …`)
    stopping.abort()
  })
}

// Everything was closed by now. Left to end by itself, Node 20 sometimes spins forever while it
// cleans up. A connection that was reset while it was being shut down is never quite closed
// (node::Environment::CleanupHandles).
process.exit(await main(process.argv.slice(2)))

async function main(args: readonly string[]): Promise<number> {
  let command: Command | 'help'
  try {
    command = parseCommand(args)
    if (command !== 'help') return await torture(command, stopping.signal)
  } catch (error) {
    if (error instanceof UsageError) {
      console.error(`${error.message}\n\n${USAGE}`)
      return 64
    }
    if (error instanceof MissingError) {
      console.error(error.message)
      return 69
    }
    if (error instanceof Interrupted) {
      console.error(`${error.message} Everything was undone; nothing was judged.`)
      return 130
    }
    throw error
  }
  console.log(USAGE)
  return 0
}
