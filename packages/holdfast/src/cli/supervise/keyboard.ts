/**
 * Distinguishes a signal of the keyboard from one that was sent to this process alone.
 *
 * In a terminal the kernel gives SIGINT and SIGQUIT to the whole foreground group, so the command
 * has them already. A signal that was sent by `kill` reaches this process only. Node does not say
 * where a signal came from. So a separate process stands in the group and handles no signal: a
 * signal that ends it came to the group.
 */
import { spawn } from 'node:child_process'
import { settlesWithin } from '../../clock/settles-within.js'

/** The longest time until the system reports that end. */
const REPORT_MS = 500

export class Keyboard {
  #canary: Promise<void> | undefined
  #release: () => void = () => {}
  #closed = false

  constructor() {
    this.#startCanary()
  }

  /** Whether the signal that has just arrived came to the whole group. */
  async sent(): Promise<boolean> {
    // Without a canary this assumes the keyboard.
    if (!this.#canary) return true
    const fromGroup = await settlesWithin(this.#canary, REPORT_MS)
    if (fromGroup) this.#startCanary()
    return fromGroup
  }

  close(): void {
    this.#closed = true
    this.#release()
  }

  #startCanary(): void {
    if (this.#closed) return
    // It ends with its pipe, and so with this process. Ctrl-\ must leave no core file of it.
    const child = spawn('/bin/sh', ['-c', 'ulimit -c 0; read -r _'], {
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    child.unref()
    child.stdin.on('error', () => {})
    this.#release = () => child.stdin.end()
    this.#canary = new Promise((resolve) => {
      child.once('exit', (_, signal) => {
        if (signal !== null) resolve()
      })
      child.once('error', () => (this.#canary = undefined))
    })
  }
}
