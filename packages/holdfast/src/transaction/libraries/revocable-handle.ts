/**
 * The handle of a transaction that its work gets. When the work has ended, the connection serves
 * other transactions. A late statement, such as one beside another that failed, would be committed
 * by itself or with the next transaction. The drivers and Drizzle would send it, so the handle
 * refuses it.
 */
import { LockUsageError } from '../../errors.js'

/** Whether statements are still sent, by every handle that shares it. */
export class Access {
  #refusal: (() => Error) | undefined

  /** Makes the error of each later statement; undefined until the end. */
  get refusal(): (() => Error) | undefined {
    return this.#refusal
  }

  /** The first end counts. */
  end(refusal: () => Error = workEnded): void {
    this.#refusal ??= refusal
  }
}

const handles = new WeakMap<object, { readonly target: object; readonly access: Access }>()

/** Methods that return a promise. The others throw. */
const PROMISED = new Set<string | symbol>(['query', 'execute', 'unsafe'])

/**
 * Returns a handle that does what `target` does until `access` ends.
 * @param kept methods that only the owner of the transaction may call, such as `release`
 */
export function revocableHandle<Tx extends object>(
  target: Tx,
  access: Access,
  kept: readonly string[] = [],
): Tx {
  const handle = new Proxy(target, {
    apply: (called, self, values: unknown[]) =>
      guarded(access, true, () => Reflect.apply(called as never, self, values)),
    get(_target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function' || typeof name === 'symbol' || name === 'constructor')
        return value
      return (...values: unknown[]) => {
        if (kept.includes(name)) throw notYours(name)
        return guarded(access, PROMISED.has(name), () => Reflect.apply(value, target, values))
      }
    },
  })
  handles.set(handle, { target, access })
  return handle
}

/**
 * Returns what the handle stands for, which stays the same for a connection; anything else as it
 * is.
 */
export function targetOf(tx: object): object {
  return handles.get(tx)?.target ?? tx
}

/** Returns undefined for what is no handle of this kind. */
export function accessOf(tx: object): Access | undefined {
  return handles.get(tx)?.access
}

function guarded({ refusal }: Access, promised: boolean, send: () => unknown): unknown {
  if (!refusal) return send()
  if (promised) return Promise.reject(refusal())
  throw refusal()
}

function workEnded(): LockUsageError {
  return new LockUsageError(
    'The work of this transaction has ended. A statement that comes now would run outside of it, or inside of the next ' +
      'transaction of its connection. Await every statement before the work returns or throws.',
  )
}

function notYours(name: string): LockUsageError {
  return new LockUsageError(
    `The work must not call ${name}() on the connection of its transaction: the connection returns to the pool when the ` +
      'transaction has ended. Remove the call.',
  )
}
