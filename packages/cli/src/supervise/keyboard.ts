/**
 * Tells a signal from the keyboard from one that somebody sent to this process alone.
 *
 * In a terminal the kernel gives SIGINT and SIGQUIT to the whole foreground group, so the command
 * has them already; one sent by `kill` reaches this process only. Node does not say where a signal
 * came from. So a process of its own stands in the group and handles nothing: what ends it came to
 * the group.
 */
import { spawn } from 'node:child_process'
import { settlesWithin } from '../timers.js'

/** How long the system may take to report that end. */
const REPORT_MS = 500

export class Keyboard {
  #canary: Promise<void> | undefined
  #release: () => void = () => {}
  #closed = false

  constructor() {
    this.#settle()
  }

  /** Whether the signal that has just arrived came to the whole group. */
  async sent(): Promise<boolean> {
    // A canary that could not be started leaves what is right at a keyboard.
    if (!this.#canary) return true
    const fromGroup = await settlesWithin(this.#canary, REPORT_MS)
    if (fromGroup) this.#settle()
    return fromGroup
  }

  close(): void {
    this.#closed = true
    this.#release()
  }

  #settle(): void {
    if (this.#closed) return
    // It ends when its pipe does, so also when this process is killed. Ctrl-\ must leave no core
    // file of it.
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
