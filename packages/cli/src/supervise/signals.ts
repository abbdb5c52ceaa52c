/**
 * The signals that the wrapper handles. What is to be done with them changes while it waits, runs
 * and stays, so there is one set of listeners with one current handler, and no moment between two
 * phases in which a signal would kill us (and with us the orderly release).
 */

/** Orders to end, in the words of the terminal, of init systems and of people. */
const ENDING = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const
/** Messages, whose meaning only the command knows. */
const MESSAGES = ['SIGUSR1', 'SIGUSR2'] as const

export type HandledSignal = (typeof ENDING)[number] | (typeof MESSAGES)[number]
export type SignalHandler = (signal: HandledSignal) => void

export function isMessage(signal: HandledSignal): boolean {
  return (MESSAGES as readonly string[]).includes(signal)
}

export class Signals {
  #handler: SignalHandler
  readonly #listener = (signal: NodeJS.Signals): void => this.#handler(signal as HandledSignal)

  constructor(handler: SignalHandler) {
    this.#handler = handler
    for (const signal of [...ENDING, ...MESSAGES]) process.on(signal, this.#listener)
  }

  /** From now on signals go here. */
  handle(handler: SignalHandler): void {
    this.#handler = handler
  }

  close(): void {
    for (const signal of [...ENDING, ...MESSAGES]) process.off(signal, this.#listener)
  }
}
