/**
 * A real pseudo-terminal, in which a program leads the session and the foreground group as under a
 * shell.
 */
import { spawn, type IPty } from '@lydell/node-pty'
import { afterEach } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'

const open = new Set<Terminal>()

afterEach(async () => {
  await endTerminals()
})

/** Ends what runs in all terminals, and resolves when none of it runs. */
export async function endTerminals(): Promise<void> {
  const ended = [...open].map((terminal) => terminal.ended)
  for (const terminal of open) terminal.close()
  open.clear()
  await Promise.all(ended)
}

export const KEYS = {
  ctrlC: '\x03',
  ctrlD: '\x04',
  ctrlZ: '\x1a',
  ctrlBackslash: '\x1c',
  enter: '\r',
} as const

export class Terminal {
  /** All that appeared on the screen, echoes of the keyboard included. */
  screen = ''
  readonly pid: number
  readonly ended: Promise<void>
  readonly #pty: IPty
  #ended: { exitCode: number; signal?: number } | undefined

  constructor(
    file: string,
    args: readonly string[],
    env: Record<string, string | undefined> = {},
    cols = 200,
    cwd?: string,
  ) {
    const place = cwd === undefined ? {} : { cwd }
    const size = { cols, rows: 50 }
    this.#pty = spawn(file, [...args], {
      ...size,
      ...place,
      env: { ...process.env, TERM: 'xterm', ...env },
    })
    this.pid = this.#pty.pid
    this.#pty.onData((text) => (this.screen += text))
    this.ended = new Promise((resolve) => {
      this.#pty.onExit((status) => {
        this.#ended = status
        resolve()
      })
    })
    open.add(this)
  }

  types(text: string): void {
    this.#pty.write(text)
  }

  async shows(pattern: RegExp | string, ms?: number): Promise<RegExpExecArray> {
    const regex = typeof pattern === 'string' ? new RegExp(pattern) : pattern
    await eventually(
      () => `the screen shows ${regex}: ${JSON.stringify(this.screen)}`,
      () => regex.test(this.screen),
      { withinMs: ms },
    )
    return regex.exec(this.screen) as RegExpExecArray
  }

  async code(ms?: number): Promise<number> {
    await eventually(
      () => `it ends: ${JSON.stringify(this.screen)}`,
      () => this.#ended !== undefined,
      { withinMs: ms },
    )
    const { exitCode, signal = 0 } = this.#ended ?? { exitCode: -1 }
    return signal === 0 ? exitCode : 128 + signal
  }

  /** Takes the terminal away from its programs, as the end of a connection does. */
  hangUp(): void {
    // The types leave out what the class has.
    ;(this.#pty as IPty & { destroy(): void }).destroy()
  }

  resize(columns: number, lines: number): void {
    this.#pty.resize(columns, lines)
  }

  /** Ends what runs in it, as closing the window does, only surer. */
  close(): void {
    if (this.#ended === undefined) this.#pty.kill('SIGKILL')
  }
}
