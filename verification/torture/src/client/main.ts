/**
 * A client process: starts its crew, reports to the conductor, and follows its orders until it is
 * killed.
 */
import type { Assignment, FromClient, ToClient } from '../protocol.js'
import { blockFor } from './blocks.js'
import { startCrew } from './crew.js'
import { Log } from './log.js'

const COUNT_EVERY_MS = 500

const assignment = JSON.parse(process.argv[2] ?? '{}') as Assignment
const log = new Log(assignment.history, assignment.notes)

// The conductor is gone: what is held is left to expire.
process.on('disconnect', () => process.exit(0))
// The terminal sends its interrupt to the whole group; the conductor decides what becomes of its
// clients.
process.on('SIGINT', () => undefined)
process.on('uncaughtException', (error, origin) => {
  log.breach({
    property: 'error',
    key: '',
    message: `A process met an ${origin}: ${error.stack ?? error.message}`,
  })
  // Other libraries go on as they can: what they let through is counted.
  if (assignment.subject === 'holdfast') process.exit(70)
})

function say(message: FromClient): void {
  process.send?.(message)
}

const crew = await (assignment.subject === 'holdfast'
  ? startCrew(assignment, log, say)
  : (await import('./plain-crew.js')).startPlainCrew(assignment, log))
say({ said: 'ready' })
const counting = setInterval(() => say({ said: 'count', ...crew.counts() }), COUNT_EVERY_MS)
void crew.ended.then(() => say({ said: 'drained' }))

process.on('message', (message: ToClient) => {
  const { ask } = message
  if (ask === 'drain') crew.drain()
  else if (ask === 'adopt') crew.adopt?.(message)
  else if (ask === 'block') void block(message)
  else if (ask === 'holding') crew.whenHolding(() => say({ said: 'holding' }))
  else void end()
})

async function block(order: Extract<ToClient, { ask: 'block' }>): Promise<void> {
  if (crew.block) await crew.block(order)
  else blockFor(order.forMs)
  say({ said: 'woke' })
}

async function end(): Promise<void> {
  clearInterval(counting)
  await crew.close()
  say({ said: 'count', ...crew.counts() })
  say({ said: 'closed' })
  process.disconnect()
}
