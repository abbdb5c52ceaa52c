/**
 * One event of a history: what a client asked, what it was told, or what the server itself held.
 *
 * A client is one actor that does one thing at a time on a lock, so that its events come in pairs:
 * `invoke`, then `ok`, `fail` (certainly not done) or `info` (nobody knows). What stands alone is
 * marked so in this table:
 *
 * | f         | type                | what it says                                                  | it needs             |
 * | --------- | ------------------- | ------------------------------------------------------------- | -------------------- |
 * | acquire   | invoke              | the lock is asked for                                         |                      |
 * | acquire   | ok                  | the holder was told; from here on it believes                 |                      |
 * | acquire   | fail, info          | refused, given up or aborted; or unclear                      |                      |
 * | enqueued  | info, alone         | the store acknowledged that this client waits                 |                      |
 * | renew     | invoke              | a renewal leaves                                              |                      |
 * | renew     | ok, may stand alone | the lease is known to last until then                         | deadline_ns          |
 * | renew     | fail, info          | refused; or unclear: the old deadline stays                   |                      |
 * | downgrade | invoke              | a writer becomes a reader: from here on it weighs `weight`    | weight               |
 * | downgrade | ok, fail, info      | the answer                                                    |                      |
 * | release   | invoke              | the holder gives up: from here on it believes no more         |                      |
 * | release   | ok, fail, info      | `released`; `lost`; or unclear                                |                      |
 * | lost      | info, alone         | the holder was told that its lease is over                    |                      |
 * | held      | ok, fail, alone     | the holder looked at `held`, and saw true or false            |                      |
 * | write     | invoke              | the locked counter is set, under the token of the lease       |                      |
 * | write     | ok                  | the resource accepted                                         | value                |
 * | write     | fail, info          | refused, `fence` says by which token; or unclear              |                      |
 * | read      | invoke, fail, info  | the locked counter is asked for                               |                      |
 * | read      | ok                  | what the counter was                                          | value                |
 * | kill      | info, alone         | the process `pid` ends now, whoever writes this down          |                      |
 * | truth     | info, alone         | what the server held for an owner, from when to when          | owner, start_ns      |
 *
 * `mode`, `weight`, `capacity`, `claim` and `note` may stand in every event. Weight and capacity
 * count where a lease begins (`acquire ok`) and are 1 where they are missing; an exclusive claim
 * weighs the whole capacity.
 */

export const HISTORY_ACTIONS = [
  'acquire',
  'enqueued',
  'renew',
  'downgrade',
  'release',
  'lost',
  'held',
  'write',
  'read',
  'kill',
  'truth',
] as const
export const HISTORY_TYPES = ['invoke', 'ok', 'fail', 'info'] as const
export const HISTORY_MODES = ['exclusive', 'shared'] as const

export type HistoryAction = (typeof HISTORY_ACTIONS)[number]
export type HistoryType = (typeof HISTORY_TYPES)[number]
export type HistoryMode = (typeof HISTORY_MODES)[number]

export interface HistoryEvent {
  /**
   * When it was written down: nanoseconds of a monotonic clock that all processes of the history
   * share, such as `process.hrtime` on one machine. Events of one process stand in the order of its
   * clock.
   */
  readonly t_ns: bigint
  readonly pid: number
  /** The actor; together with the process it is an identity. */
  readonly client: string
  /** The full name of the lock; empty for a `kill`, which ends all that a process holds. */
  readonly key: string
  readonly f: HistoryAction
  readonly type: HistoryType
  /** `exclusive` when the weight is the whole capacity. */
  readonly mode?: HistoryMode
  readonly weight?: number
  readonly capacity?: number
  /** The id of the claim in the store. Leases that were handed on inside a cohort share it. */
  readonly claim?: string
  /**
   * The fencing token: of a lease, of a write, or the first one of a grant that the server held.
   */
  readonly token?: bigint
  /** How many tokens the grant reserved, beginning with `token`; 1 where it is missing. */
  readonly tokens?: number
  /** The largest token that the protected resource has seen. */
  readonly fence?: bigint
  /** The value of the locked counter. */
  readonly value?: number
  /**
   * Until when the holder believes in its lease, as it knew then; missing when it believes without
   * an end.
   */
  readonly deadline_ns?: bigint
  /** The id of the claim that the server held. */
  readonly owner?: string
  /**
   * From when to when the server held it, on the clock of `t_ns`; without an end it held on to the
   * last.
   */
  readonly start_ns?: bigint
  readonly end_ns?: bigint
  /** For people; no checker reads it. */
  readonly note?: string
}

/** What is left to say of an event when time, process and client are known. */
export type HistoryNote = Omit<HistoryEvent, 't_ns' | 'pid' | 'client'>
