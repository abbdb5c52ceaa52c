/** The keys of a modelled Redis, with their types and expiry. */
import { ReplyError } from '../redis-connection.js'

export type Value = string | Map<string, string>

interface Entry {
  readonly value: Value
  readonly expiresAtMs: number | undefined
}

export class Keyspace {
  readonly #entries = new Map<string, Entry>()
  #nowMs = 0

  /**
   * The server looks at its clock once a command. Expired keys go at once: they must not come back
   * when it jumps.
   */
  begin(nowMs: number): void {
    this.#nowMs = nowMs
    for (const [key, { expiresAtMs }] of this.#entries) {
      // As Redis: a key still exists in the millisecond in which it expires.
      if (expiresAtMs !== undefined && this.nowMs > expiresAtMs) this.#entries.delete(key)
    }
  }

  /** Redis counts whole milliseconds. */
  get nowMs(): number {
    return Math.floor(this.#nowMs)
  }

  get nowUs(): number {
    return Math.floor(this.#nowMs * 1000)
  }

  has(key: string): boolean {
    return this.#entries.has(key)
  }

  string(key: string): string | undefined {
    const value = this.#entries.get(key)?.value
    if (typeof value === 'object') throw wrongType()
    return value
  }

  hash(key: string): ReadonlyMap<string, string> | undefined {
    const value = this.#entries.get(key)?.value
    if (typeof value === 'string') throw wrongType()
    return value
  }

  /** Sets the value and drops the expiry, as SET does. */
  set(key: string, value: Value, expiresAtMs?: number): void {
    this.#entries.set(key, { value, expiresAtMs })
  }

  /** Sets the value and keeps the expiry, as INCR and HSET do. */
  update(key: string, value: Value): void {
    this.set(key, value, this.expiresAtMs(key))
  }

  expiresAtMs(key: string): number | undefined {
    return this.#entries.get(key)?.expiresAtMs
  }

  /** Does nothing for a key that does not exist. */
  expire(key: string, expiresAtMs: number): void {
    const entry = this.#entries.get(key)
    if (entry) this.#entries.set(key, { ...entry, expiresAtMs })
  }

  delete(key: string): boolean {
    return this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }
}

function wrongType(): ReplyError {
  return new ReplyError('WRONGTYPE Operation against a key holding the wrong kind of value')
}
