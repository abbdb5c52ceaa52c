/** A connection to Redis as the broken locks use it: to a real server, or to the modelled one. */

/** What Redis answers, as its clients show it: an error is thrown instead. */
export type Reply = string | number | null | readonly Reply[]

/** The name and the arguments of a command. */
export type Command = readonly [name: string, ...args: (string | number)[]]

/**
 * Redis answered with an error: a command then had no effect, a script may have done a part. Any
 * other error of a connection leaves the outcome open. Clients such as ioredis throw errors of
 * their own with this name.
 */
export class ReplyError extends Error {
  override readonly name = 'ReplyError'
}

export function isReplyError(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError'
}

/** Runs one command inside a script; throws a ReplyError where Redis would. */
export type SendCommand = (...command: Command) => Reply

/**
 * A script, once for a real server and once for the modelled one. A test holds the two together.
 */
export interface Script {
  readonly name: string
  readonly lua: string
  /** The same as the Lua text. It must only call commands and compute. */
  readonly run: (call: SendCommand, keys: readonly string[], args: readonly string[]) => Reply
}

export interface Subscription {
  close(): void
}

/**
 * A connection to Redis. An answer may come late, or never: each caller needs a time limit
 * of its own.
 */
export interface RedisConnection {
  command(...command: Command): Promise<Reply>
  script(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<Reply>
  /** Resolves when the server has confirmed it; `listener` gets the messages from then on. */
  subscribe(channel: string, listener: (message: string) => void): Promise<Subscription>
}
