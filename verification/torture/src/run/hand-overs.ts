/**
 * Carries the handles of exported leases from client to client. The exporter may be killed before a
 * handle arrives, and the adopter before or after that.
 */
import type { FromClient } from '../protocol.js'
import type { ClientProcess } from './client-process.js'

export class HandOvers {
  /** The claims of all exported leases. They belong to no client until they are adopted. */
  readonly claims = new Set<string>()
  readonly #clients: readonly ClientProcess[]
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(clients: readonly ClientProcess[]) {
    this.#clients = clients
    for (const client of clients) client.whenExported = (message) => this.#offer(message)
  }

  end(): void {
    for (const timer of this.#timers) clearTimeout(timer)
  }

  #offer({ exported, heirs }: Extract<FromClient, { said: 'exported' }>): void {
    this.claims.add(claimOf(exported.handle))
    for (const [number, { process, afterMs, workMs }] of heirs.entries()) {
      const name = `c${process}.heir${number}/${exported.id}`
      const timer = setTimeout(() => {
        this.#timers.delete(timer)
        this.#clients[process]?.tell({ ask: 'adopt', name, exported, workMs })
      }, afterMs)
      this.#timers.add(timer)
    }
  }
}

/** A handle names the claim in its third field. */
function claimOf(handle: string): string {
  const body = Buffer.from(handle.split('.')[1] ?? '', 'base64url').toString()
  return String((JSON.parse(body) as unknown[])[2])
}
