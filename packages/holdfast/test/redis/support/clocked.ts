/** A client whose server believes in a time that the test sets. */
import type { IoRedisClient } from 'holdfast/redis'

const TIME_KEY = 'test:time'

/**
 * Wraps a client so that scripts read the time from a key. Nothing else is changed in them: the test fails if they read
 * it in any other way than it knows.
 */
export function clockedClient(inner: IoRedisClient): {
  readonly client: IoRedisClient
  setTime(nowMs: number): Promise<unknown>
} {
  const client: IoRedisClient = {
    get status() {
      return inner.status
    },
    options: inner.options,
    call(command, ...args) {
      // The store then sends the source.
      if (command === 'EVALSHA') return Promise.reject(new Error('NOSCRIPT No matching script.'))
      if (command !== 'EVAL') return inner.call(command, ...args)
      const [source = '', ...rest] = args
      const clocked = source.replace("call('TIME')", `cjson.decode(call('GET', '${TIME_KEY}'))`)
      if (clocked === source || /TIME'/.test(clocked))
        throw new Error('the script reads the time in another way')
      return inner.call('EVAL', clocked, ...rest)
    },
    duplicate: (override) => inner.duplicate(override),
    on: (event, listener) => inner.on(event, listener),
    off: (event, listener) => inner.off(event, listener),
  }
  return {
    client,
    setTime(nowMs) {
      const [seconds, micros] = [Math.floor(nowMs / 1000), Math.round((nowMs % 1000) * 1000)]
      return inner.call('SET', TIME_KEY, JSON.stringify([String(seconds), String(micros)]))
    },
  }
}
