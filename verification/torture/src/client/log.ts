/**
 * The files that a client writes while things happen: what a killed process had seen must be on
 * record.
 */
import { openSync, writeSync } from 'node:fs'
import { formatEvent, type HistoryEvent } from '@holdfast/conformance'
import type { BackgroundNote, BlockNote, BreachNote, LossNote, Note } from '../protocol.js'

export class Log {
  readonly #history: number
  readonly #notes: number

  constructor(history: string, notes: string) {
    this.#history = openSync(history, 'a')
    this.#notes = openSync(notes, 'a')
  }

  event(event: HistoryEvent): void {
    writeSync(this.#history, `${formatEvent(event)}\n`)
  }

  loss(loss: Omit<LossNote, 'note' | 'pid'>): void {
    this.#write({ note: 'loss', pid: process.pid, ...loss })
  }

  breach(breach: Omit<BreachNote, 'note' | 'at_ns'>): void {
    this.#write({ note: 'breach', at_ns: String(nowNs()), ...breach })
  }

  background(failure: Omit<BackgroundNote, 'note'>): void {
    this.#write({ note: 'background', ...failure })
  }

  block(block: Omit<BlockNote, 'note' | 'pid'>): void {
    this.#write({ note: 'block', pid: process.pid, ...block })
  }

  #write(note: Note): void {
    writeSync(this.#notes, `${JSON.stringify(note)}\n`)
  }
}

/** The clock that all processes of the machine share. */
export function nowNs(): bigint {
  return process.hrtime.bigint()
}
