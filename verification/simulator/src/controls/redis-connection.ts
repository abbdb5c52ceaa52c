/**
 * A connection of one process to the modelled Redis: each command is a message there and a message
 * back.
 */
import {
  isReplyError,
  type RedisConnection,
  type Reply,
  type Subscription,
} from '@holdfast/broken-locks'
import type { Link } from '../world/link.js'
import type { Process } from '../world/process.js'
import type { RedisServer, Subscriber } from './redis-server.js'

export function modelConnection(
  process: Process,
  link: Link,
  server: RedisServer,
): RedisConnection {
  /** Answers may get lost, so the promise may stay pending: the locks have limits of their own. */
  function call<T>(handle: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const lane = link.lane()
      const answer = (settle: () => void): void =>
        void link.reply(lane, () => process.receive(settle))
      link.request(lane, () => {
        if (server.host.down) {
          answer(() => reject(new Error('The connection was refused.')))
          return
        }
        server.host.receive(() => {
          try {
            const value = handle()
            answer(() => resolve(value))
          } catch (error) {
            if (!isReplyError(error)) throw error
            answer(() => reject(error))
          }
        })
      })
    })
  }

  return {
    command: (...command): Promise<Reply> => call(() => server.command(command)),
    script: (script, keys, args): Promise<Reply> => call(() => server.script(script, keys, args)),
    async subscribe(channel, listener): Promise<Subscription> {
      let open = true
      const deliver = (message: string): void =>
        void link.wake(() =>
          process.receive(() => {
            if (open) listener(message)
          }),
        )
      const subscriber: Subscriber = { channel, deliver }
      await call(() => server.subscribe(subscriber))
      return {
        close() {
          open = false
          call(() => server.unsubscribe(subscriber)).catch(() => undefined)
        },
      }
    },
  }
}
