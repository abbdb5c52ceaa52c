/**
 * The terminal of `holdfast watch`: the alternate screen, raw keys, and their end. Every way out
 * restores the terminal: the end of the program, signals, an exception, and Ctrl-Z. A terminal that
 * has gone ends the program.
 */
import { closeGoneTerminal } from '../output/gone-terminal.js'
import { keysIn } from './keys.js'
import type { Key } from './state.js'
import type { Size } from './view.js'

const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const CLEAR_LINE = '\u001b[K'
const CLEAR_BELOW = '\u001b[J'

const ENDING = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const

export interface ScreenEvents {
  onKey(key: Key): void
  /** The terminal has another size, or this program continues after a stop. */
  onRedraw(): void
}

export class TerminalScreen {
  readonly #input = process.stdin
  readonly #output = process.stdout
  readonly #events: ScreenEvents
  #isOpen = false
  readonly #listeners: (() => void)[] = []

  constructor(events: ScreenEvents) {
    this.#events = events
  }

  get size(): Size {
    return { columns: this.#output.columns || 80, lines: this.#output.rows || 24 }
  }

  open(): void {
    this.#enter()
    const leave = (): void => this.#leave()
    process.on('exit', leave)
    this.#listeners.push(() => process.off('exit', leave))
    for (const [signal, exitCode] of Object.entries(ENDING))
      this.#on(signal, () => process.exit(exitCode))
    this.#on('SIGTSTP', () => this.#suspend())
    // After a SIGSTOP from outside the terminal has the settings of the shell.
    this.#on('SIGCONT', () => {
      this.#leave()
      this.#enter()
      this.#events.onRedraw()
    })
    const resize = (): void => this.#events.onRedraw()
    this.#output.on('resize', resize)
    this.#listeners.push(() => this.#output.off('resize', resize))
    const read = (chunk: string): void => {
      for (const key of keysIn(chunk)) {
        if (key === 'suspend') this.#suspend()
        else this.#events.onKey(key)
      }
    }
    this.#input.setEncoding('utf8').on('data', read)
    const hangUp = (): void => this.#hangUp()
    this.#input.on('end', hangUp).on('error', hangUp)
    this.#listeners.push(() =>
      this.#input.off('data', read).off('end', hangUp).off('error', hangUp),
    )
  }

  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return
    const text = lines.map((line) => `${line}${CLEAR_LINE}`).join('\r\n')
    this.#output.write(`${HOME}${text}${CLEAR_BELOW}`)
  }

  close(): void {
    this.#leave()
    for (const stop of this.#listeners.splice(0)) stop()
    this.#input.pause()
  }

  #on(signal: string, listener: () => void): void {
    process.on(signal, listener)
    this.#listeners.push(() => process.off(signal, listener))
  }

  #enter(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#input.setRawMode(true)
    this.#input.resume()
    this.#output.write(ENTER)
  }

  #leave(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#output.write(LEAVE)
    this.#input.setRawMode(false)
  }

  /** Ends the program after its terminal, which cannot be restored. */
  #hangUp(): void {
    this.#isOpen = false
    closeGoneTerminal()
    process.exit(ENDING.SIGHUP)
  }

  /** SIGSTOP, since this process listens for SIGTSTP. */
  #suspend(): void {
    this.#leave()
    process.kill(process.pid, 'SIGSTOP')
  }
}
