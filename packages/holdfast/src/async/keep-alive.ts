/**
 * Keeps the process alive while a call is pending: `acquire`, `run`, `release`, `close` and others.
 * Node ends a process in which nothing else is to be done, and the promise of the call would never
 * settle. A lease that is merely held does not keep the process alive.
 */
import { isWorker } from '../clock/platform.js'
import { outsideContext } from './async-context.js'
import { forOneCaller, withCallerFrames } from './caller-frames.js'

/** Of the system, also where a test replaces the timers later. */
const { setInterval } = globalThis
/** The longest time that Node's timers can count, nearly. */
const PERIOD_MS = 2 ** 31 - 1

let calls = 0
let timer: NodeJS.Timeout | undefined

/** Notes that a call is pending. `endCall` follows once. */
export function beginCall(): void {
  calls += 1
  if (calls > 1) return
  if (timer) timer.ref()
  else timer = keepAlive()
}

/** Cloudflare's runtime has no process to keep alive, and may have numbers for timers. */
function keepAlive(): NodeJS.Timeout | undefined {
  if (isWorker()) return undefined
  return outsideContext(() => setInterval(() => undefined, PERIOD_MS))
}

export function endCall(): void {
  calls -= 1
  if (calls === 0) timer?.unref()
}

/** Calls that count as pending until they settle, or until their client is closed. */
export class OpenCalls {
  #open = 0
  #isClosed = false

  begin(): void {
    if (this.#isClosed) return
    this.#open += 1
    beginCall()
  }

  end(): void {
    if (this.#isClosed) return
    this.#open -= 1
    endCall()
  }

  close(): void {
    this.#isClosed = true
    for (; this.#open > 0; this.#open -= 1) endCall()
  }
}

/** Keeps the process alive until the promise settles. Settles as that does. */
export function pendingCall<T>(promise: PromiseLike<T>): Promise<T> {
  return settled(promise, false)
}

/** The same for one question to the store, whose answer may be an error of several calls. */
export function storeCall<T>(promise: PromiseLike<T>): Promise<T> {
  return settled(promise, true)
}

async function settled<T>(promise: PromiseLike<T>, isShared: boolean): Promise<T> {
  beginCall()
  try {
    return await promise
  } catch (error) {
    throw withCallerFrames(isShared ? forOneCaller(error) : error, 1)
  } finally {
    endCall()
  }
}
