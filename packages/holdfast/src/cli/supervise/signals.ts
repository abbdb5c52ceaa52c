/**
 * The signals that the wrapper handles. Their meaning changes between the wait, the run and the
 * end. One set of listeners with one current handler leaves no moment in which a signal would kill
 * the wrapper before the release.
 */

/** Signals that ask to end: from the terminal, from init systems and from people. */
const ENDING = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const
/** Messages to the command, which alone knows their meaning. */
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

  /** Sets the handler of later signals. */
  handle(handler: SignalHandler): void {
    this.#handler = handler
  }

  close(): void {
    for (const signal of [...ENDING, ...MESSAGES]) process.off(signal, this.#listener)
  }
}
