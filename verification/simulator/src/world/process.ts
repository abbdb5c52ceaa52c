/**
 * A process of the modelled world: an event loop that can be stopped, put to sleep with its
 * machine, and killed.
 *
 * Timers and messages that fall due while it is stopped wait. On waking the timers come first and
 * then the messages, one after the other, as in Node's event loop. The clock is then far ahead of
 * its last reading.
 */
import type { Clock, Timer } from 'holdfast'
import type { Agenda } from './agenda.js'
import type { Dice } from '@holdfast/workload'
import type { MachineClock } from './machine-clock.js'

/** What is lost when a time is converted from one clock to another and back. */
const ROUNDING_MS = 1e-6

interface LocalTimer extends Timer {
  readonly dueMs: number
  fire: (() => void) | undefined
}

export class Process implements Clock {
  readonly name: string
  readonly pid: number
  /** The monotonic clock and the wall clock of its machine. */
  readonly machine: MachineClock
  /**
   * Called on waking, before any timer or message has its turn: what does the process believe now?
   */
  onWake: () => void = () => undefined
  readonly #agenda: Agenda
  readonly #dice: Dice
  #state: 'runs' | 'stopped' | 'killed' = 'runs'
  #runsSinceMs: number
  #stoodSinceMs = 0
  #stoodMs = 0
  #late: LocalTimer[] = []
  #inbox: (() => void)[] = []

  constructor(name: string, pid: number, agenda: Agenda, machine: MachineClock, dice: Dice) {
    this.name = name
    this.pid = pid
    this.#agenda = agenda
    this.machine = machine
    this.#dice = dice
    this.#runsSinceMs = agenda.nowMs
  }

  get runs(): boolean {
    return this.#state === 'runs'
  }

  get alive(): boolean {
    return this.#state !== 'killed'
  }

  /** For how long it has been running without a stop. */
  get awakeMs(): number {
    return this.runs ? this.#agenda.nowMs - this.#runsSinceMs : 0
  }

  /** For how long it has been stopped by its own clock, now or the last time. */
  get stoodMs(): number {
    return this.#state === 'stopped'
      ? this.machine.monotonicMs() - this.#stoodSinceMs
      : this.#stoodMs
  }

  monotonicMs(): number {
    this.#agenda.passMoment()
    return this.machine.monotonicMs()
  }

  wallMs(): number {
    this.#agenda.passMoment()
    return this.machine.wallMs()
  }

  /**
   * Like Node's: whole milliseconds, at least one, now and then late. Node counts them from the
   * last whole millisecond, so that a timer may fire a moment early.
   */
  timer(delayMs: number, fire: () => void): Timer {
    const waitMs = Math.max(1, Math.ceil(Math.min(delayMs, 2 ** 31 - 1)))
    const timer: LocalTimer = {
      dueMs: Math.floor(this.machine.monotonicMs()) + waitMs + this.#dice.exponential(0.2, 3),
      fire,
      cancel: () => (timer.fire = undefined),
    }
    this.#arm(timer)
    return timer
  }

  /** At the end of this tick; a stop or a kill may come in between. */
  atTickEnd(work: () => void): void {
    this.#agenda.afterEvent(() => this.receive(work))
  }

  /** A message from outside arrives. */
  receive(handle: () => void): void {
    if (this.#state === 'killed') return
    if (this.#state === 'stopped') this.#inbox.push(handle)
    else handle()
  }

  stop(): void {
    if (this.#state !== 'runs') return
    this.#state = 'stopped'
    this.#stoodSinceMs = this.machine.monotonicMs()
  }

  resume(): void {
    if (this.#state !== 'stopped') return
    this.#stoodMs = this.stoodMs
    this.#state = 'runs'
    this.#runsSinceMs = this.#agenda.nowMs
    const late = this.#late.sort((a, b) => a.dueMs - b.dueMs)
    const inbox = this.#inbox
    this.#late = []
    this.#inbox = []
    this.onWake()
    // Each in a tick of its own, so that promises settle in between; a second stop catches what is
    // left.
    for (const timer of late) this.#agenda.afterEvent(() => this.#due(timer))
    for (const handle of inbox) this.#agenda.afterEvent(() => this.receive(handle))
  }

  kill(): void {
    this.#state = 'killed'
    this.#late = []
    this.#inbox = []
  }

  #arm(timer: LocalTimer): void {
    this.#agenda.at(this.machine.trueMs(timer.dueMs), () => this.#due(timer))
  }

  #due(timer: LocalTimer): void {
    if (!timer.fire || this.#state === 'killed') return
    if (this.#state === 'stopped') this.#late.push(timer)
    // The machine slept meanwhile, and its monotonic clock with it.
    else if (this.machine.monotonicMs() < timer.dueMs - ROUNDING_MS) this.#arm(timer)
    else timer.fire()
  }
}
