/**
 * The actors of one process over another lock than Holdfast's: a few contended locks, one thing at
 * a time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Dice, increment } from '@holdfast/workload'
import { Recorder } from '@holdfast/conformance'
import type { Assignment } from '../protocol.js'
import { controlSubject } from '../subjects/control.js'
import type { PeerName } from '../subjects/names.js'
import { peerSubject } from '../subjects/peer.js'
import type { PlainHold, PlainSubject } from '../subjects/plain.js'
import type { Crew } from './crew.js'
import type { Log } from './log.js'
import { ResourceClient } from './resource.js'

const LOCKS = ['plain-a', 'plain-b', 'plain-c']
const LOOK_EVERY_MS = 60
const REFUSED_MS = 30

class PlainActor {
  leases = 0
  waiting = false
  closing = false
  #atWorkMs = Infinity
  readonly #name: string
  readonly #dice: Dice
  readonly #recorder: Recorder
  readonly #resource: ResourceClient
  readonly #subject: PlainSubject

  constructor(name: string, dice: Dice, log: Log, resource: ResourceClient, subject: PlainSubject) {
    this.#name = name
    this.#dice = dice
    this.#recorder = new Recorder(name, (event) => log.event(event))
    this.#resource = resource
    this.#subject = subject
  }

  get atWork(): boolean {
    return performance.now() - this.#atWorkMs > 10
  }

  async run(): Promise<void> {
    const locks = LOCKS.map((name) => ({ name, lock: this.#subject.lock(name, this.#recorder) }))
    while (!this.closing) {
      await sleep(this.#dice.exponential(30, 200))
      const { name, lock } = this.#dice.pick(locks)
      const workMs = this.#dice.chance(0.1)
        ? this.#dice.between(300, 1500)
        : this.#dice.exponential(30, 200)
      this.waiting = true
      try {
        await lock.run((hold) => this.#work(name, hold, workMs))
      } catch {
        // It gave up, was refused, or does not know: the history has that already.
        await sleep(REFUSED_MS)
      }
      this.waiting = false
    }
  }

  async #work(key: string, hold: PlainHold, workMs: number): Promise<void> {
    this.leases += 1
    this.waiting = false
    this.#atWorkMs = performance.now()
    await this.#increment(key, hold)
    const endMs = performance.now() + workMs
    for (let leftMs = workMs; leftMs > 0 && !this.closing; leftMs = endMs - performance.now()) {
      await sleep(Math.min(leftMs, LOOK_EVERY_MS))
      if (!hold.believed()) break
    }
    await this.#increment(key, hold)
    this.#atWorkMs = Infinity
  }

  async #increment(key: string, hold: PlainHold): Promise<void> {
    if (!hold.believed()) return
    await increment(this.#resource, {
      key,
      owner: this.#name,
      token: hold.token,
      believes: () => hold.believed(),
      note: (note) => this.#recorder.note(note),
    })
  }
}

export async function startPlainCrew(assignment: Assignment, log: Log): Promise<Crew> {
  const { seed, index, generation, actors: count } = assignment
  const subject = open(assignment)
  const resource = await ResourceClient.open(assignment.resource)
  const actors = Array.from({ length: count }, (_, number) => {
    const name = `c${index}.${String.fromCharCode(97 + number)}`
    return new PlainActor(name, Dice.named(seed, `${name} ${generation}`), log, resource, subject)
  })
  let poll: NodeJS.Timeout | undefined
  return {
    ended: Promise.all(actors.map((actor) => actor.run())).then(() => undefined),
    counts: () => ({
      leases: actors.reduce((sum, { leases }) => sum + leases, 0),
      losses: 0,
      waiting: actors.filter(({ waiting }) => waiting).length,
    }),
    drain: () => actors.forEach((actor) => (actor.closing = true)),
    whenHolding(tell) {
      clearInterval(poll)
      poll = setInterval(() => {
        if (!actors.some(({ atWork }) => atWork)) return
        clearInterval(poll)
        tell()
      }, 5)
    },
    close() {
      clearInterval(poll)
      subject.close()
      resource.close()
      return Promise.resolve()
    },
  }
}

function open({ subject, connection, ttlMs }: Assignment): PlainSubject {
  const [port = 0] = connection.ports
  const [kind, name = ''] = subject.split(':')
  return kind === 'control'
    ? controlSubject(name, port, ttlMs)
    : peerSubject(name as PeerName, port, ttlMs)
}
