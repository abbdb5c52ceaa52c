/** Starts the helper in a worker thread of Node. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { MessagePort, Worker } from 'node:worker_threads'
import { LockUsageError } from '../../../errors.js'
import type { StoreSource } from '../../../store/source.js'
import type { Runtime } from '../../runtime/runtime.js'
import { hrtimeAheadMs } from './hrtime.js'
import type { HelperSettings, SharedLease, StolenLease } from './messages.js'
import { RenewalHelper, type HelpedLeases, type HelperThread } from './renewal-helper.js'
import { SharedBoard } from './shared-leases.js'

/** The file of the worker, from the folder of this one. */
const FILE = ['..', '..', '..', 'renewal-worker', 'main.js'] as const

/**
 * Starts a helper, which opens the same store with a connection of its own.
 * @throws LockUsageError when the worker's file is not there, as in a bundle.
 */
export function startHelper(
  runtime: Runtime,
  leases: HelpedLeases,
  settings: { readonly source: StoreSource; readonly blockedAtMostMs: number },
): RenewalHelper {
  const board = new SharedBoard()
  const source = withWholePath(settings.source)
  const thread = new WorkerThread({ ...settings, source, board: board.buffer })
  const helper = new RenewalHelper(runtime, leases, {
    board,
    thread,
    aheadMs: hrtimeAheadMs(runtime.clock),
  })
  thread.onLost = (error) => helper.lost(error)
  return helper
}

/** The working folder may be another one when the thread imports a module. */
function withWholePath(source: StoreSource): StoreSource {
  if (!('module' in source) || /^file:/i.test(source.module)) return source
  return { module: resolve(source.module) }
}

class WorkerThread implements HelperThread {
  onLost: (error: unknown) => void = () => undefined
  /** Not imported: runtimes without threads load this file, too. */
  readonly #threads = process.getBuiltinModule('node:worker_threads')
  readonly #worker: Worker
  readonly #port: MessagePort
  #closing = false

  constructor(settings: HelperSettings) {
    const { port1, port2 } = new this.#threads.MessageChannel()
    this.#port = port1
    const workerData = { ...settings, news: port2 }
    this.#worker = new this.#threads.Worker(workerFile(), { workerData, transferList: [port2] })
    this.#worker.on('error', (error) => this.#end(error))
    this.#worker.on('exit', (code) =>
      this.#end(new Error(`The worker thread that renews leases ended with code ${code}.`)),
    )
    // It must not keep the process alive.
    this.#worker.unref()
    this.#port.unref()
  }

  share(lease: SharedLease): void {
    this.#worker.postMessage(lease, [])
  }

  stolen(): StolenLease[] {
    const found: StolenLease[] = []
    const { receiveMessageOnPort } = this.#threads
    for (let next = receiveMessageOnPort(this.#port); next; next = receiveMessageOnPort(this.#port))
      found.push(next.message as StolenLease)
    return found
  }

  #end(error: unknown): void {
    if (!this.#closing) this.onLost(error)
    this.#closing = true
  }

  async close(): Promise<void> {
    this.#closing = true
    this.#port.close()
    await this.#worker.terminate()
  }
}

/** @throws LockUsageError when it is not there. */
function workerFile(): string {
  // A bundle of ES modules has no `__dirname`.
  const file = typeof __dirname === 'string' ? join(__dirname, ...FILE) : FILE.join('/')
  if (existsSync(file)) return file
  throw new LockUsageError(
    `renewFrom: 'worker' finds no ${file}. Keep holdfast out of the bundle: mark holdfast and holdfast/* as external.`,
  )
}
