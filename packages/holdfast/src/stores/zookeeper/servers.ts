/** Finding a server that takes a session, among those of an ensemble. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from './connection.js'
import type { Ensemble } from './options.js'
import type { Welcome } from './wire/messages.js'

/** How long one server is given to greet, in milliseconds. */
const GREETING_MS = 1500
/** How long to pause when no server takes the session, at first and in the end, in milliseconds. */
const PAUSE_MS = [50, 500] as const
/** Asks one server after the other, for as long as it is wanted. */
export async function findServer(
  { servers }: Ensemble,
  start: number,
  session: Welcome,
  lastZxid: bigint,
  wanted: () => boolean,
): Promise<{ connection: Connection; server: number } | undefined> {
  let [pauseMs] = PAUSE_MS as readonly number[]
  for (let tries = 0; wanted(); tries += 1) {
    const index = (start + tries) % servers.length
    const server = servers[index]
    if (!server) return undefined
    try {
      return { connection: await Connection.open(server, session, lastZxid, GREETING_MS), server: index }
    } catch {
      // Why it failed does not matter as long as another one may be found; that none was is told by the caller.
      if ((tries + 1) % servers.length !== 0) continue
    }
    await sleep(pauseMs)
    pauseMs = Math.min((pauseMs ?? 0) * 2, PAUSE_MS[1])
  }
  return undefined
}
