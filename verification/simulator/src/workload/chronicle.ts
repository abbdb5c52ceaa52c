/** Writes the history of a run, in true time, in the format of `@holdfast/conformance`. */
import type { HistoryEvent, HistoryNote } from '@holdfast/conformance'
import type { Agenda } from '../world/agenda.js'

export class Chronicle {
  readonly events: HistoryEvent[] = []
  readonly #agenda: Agenda

  constructor(agenda: Agenda) {
    this.#agenda = agenda
  }

  note(
    pid: number,
    client: string,
    note: HistoryNote,
    atNs = nanoseconds(this.#agenda.nowMs),
  ): void {
    this.events.push({ t_ns: atNs, pid, client, ...note })
  }
}

export function nanoseconds(ms: number): bigint {
  return BigInt(Math.floor(ms * 1e6))
}
