/**
 * The worker's side: a process that the suite starts, stops and kills.
 *
 * A worker program calls `await serveWorker(() => myStore(process.argv[2]))`.
 */
import { openSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import {
  createLocks,
  type Lease,
  type Locks,
  onLockEvent,
  systemClock,
  systemRandom,
} from 'holdfast'
import type { MaybePromise, Store } from 'holdfast/store'
import { contend } from '../contend.js'
import { formatEvent, Recorder } from '../history/index.js'
import type { Envelope, WorkerAnswer, WorkerRequest } from './protocol.js'

/** Answers the suite on stdin and stdout until stdin ends. */
export async function serveWorker(open: () => MaybePromise<Store>): Promise<void> {
  const locks = createLocks(await open())
  // The first lock of a process also waits for its connection, while its TTL counts already.
  await locks.mutex(`first lock of ${process.pid}`).run(() => undefined)
  const worker = new Worker(locks)
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, body } = JSON.parse(line) as Envelope<WorkerRequest>
    // Answers may come in another order than requests: a wait must not block later requests.
    void worker.handle(body).then(
      (answer) => reply(id, answer),
      (error: unknown) => reply(id, { answer: 'error', message: String(error) }),
    )
  }
  // The suite has ended. Held leases are left to expire, as if the process had died.
  process.exit(0)
}

function reply(id: number, body: WorkerAnswer): void {
  const envelope: Envelope<WorkerAnswer> = { id, body }
  process.stdout.write(`${JSON.stringify(envelope)}\n`)
}

class Worker {
  readonly #locks: Locks
  readonly #leases = new Map<string, Lease>()
  readonly #stop = new AbortController()
  #contention: Promise<unknown> = Promise.resolve()

  constructor(locks: Locks) {
    this.#locks = locks
  }

  async handle(request: WorkerRequest): Promise<WorkerAnswer> {
    switch (request.ask) {
      case 'acquire':
        return this.#acquire(request)
      case 'wait':
        return this.#wait(request)
      case 'keep':
        return this.#begun((work) =>
          this.#locks.mutex(request.lock).run(work, { atLeastMs: request.atLeastMs }),
        )
      case 'tick':
        return this.#tick(request)
      case 'release':
        return { answer: 'released', outcome: await this.#lease(request.lock).release() }
      case 'held':
        return this.#describe(this.#lease(request.lock))
      case 'contend':
        this.#contend(request)
        return { answer: 'done' }
      case 'freeze':
        process.kill(process.pid, 'SIGSTOP')
        return { answer: 'done' }
      case 'stop':
        break
    }
    return this.#end()
  }

  async #end(): Promise<WorkerAnswer> {
    this.#stop.abort()
    await this.#contention
    await this.#locks.close({ graceMs: 0 })
    return { answer: 'done' }
  }

  async #acquire({ lock, ttlMs }: WorkerRequest & { ask: 'acquire' }): Promise<WorkerAnswer> {
    const lease = await this.#locks.mutex(lock, { ttlMs }).acquire()
    this.#leases.set(lock, lease)
    return this.#describe(lease)
  }

  #wait(request: WorkerRequest & { ask: 'wait' }): Promise<WorkerAnswer> {
    return new Promise((resolve, reject) => {
      onLockEvent('queued', ({ lock }) => {
        if (lock === request.lock) resolve({ answer: 'done' })
      })
      this.#locks.mutex(request.lock, { ttlMs: request.ttlMs }).acquire().catch(reject)
    })
  }

  #tick({ lock, slot, atLeastMs, ttlMs }: WorkerRequest & { ask: 'tick' }): Promise<WorkerAnswer> {
    return this.#begun((work) => this.#locks.oncePerTick(lock, work, { slot, atLeastMs, ttlMs }))
  }

  /** Starts work that does not end, and resolves when it has begun. */
  #begun(
    start: (work: (lease: Lease) => Promise<never>) => Promise<unknown>,
  ): Promise<WorkerAnswer> {
    return new Promise((resolve, reject) => {
      const work = (lease: Lease): Promise<never> => {
        resolve(this.#describe(lease))
        return new Promise(() => undefined)
      }
      start(work).catch(reject)
    })
  }

  #describe(lease: Lease): WorkerAnswer {
    const { held, signal, token } = lease
    return {
      answer: 'held',
      held,
      aborted: signal.aborted,
      token: String(token),
    }
  }

  #lease(lock: string): Lease {
    const lease = this.#leases.get(lock)
    if (!lease) throw new Error(`This worker has no lease on ${lock}.`)
    return lease
  }

  #contend({ lock, ttlMs, actors, workMs, history }: WorkerRequest & { ask: 'contend' }): void {
    const file = openSync(history, 'a')
    const mutex = this.#locks.mutex(lock, { ttlMs })
    const { signal } = this.#stop
    this.#contention = Promise.all(
      Array.from({ length: actors }, (_, index) =>
        contend({
          lock: mutex,
          weight: 1,
          capacity: 1,
          // Written synchronously: the history must contain all that a killed process saw.
          recorder: new Recorder(`worker-${process.pid}-${index}`, (event) => {
            writeSync(file, `${formatEvent(event)}\n`)
          }),
          clock: systemClock,
          random: systemRandom,
          workMs,
          goesOn: () => !signal.aborted,
          signal,
        }),
      ),
    )
    this.#contention.catch(() => undefined)
  }
}
