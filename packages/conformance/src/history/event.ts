/**
 * One event of a history: a request of a client, an answer to it, or what the server itself held.
 *
 * A client is one actor that does one thing at a time with a lock, so its events come in pairs. A
 * pair is `invoke`, then `ok`, `fail` (certainly not done) or `info` (in doubt). The table marks
 * events that come alone:
 *
 * | f         | type                | meaning                                                       | needs                |
 * | --------- | ------------------- | ------------------------------------------------------------- | -------------------- |
 * | acquire   | invoke              | the client requests the lock                                  |                      |
 * | acquire   | ok                  | the client learned of the grant, and trusts its lease         |                      |
 * | acquire   | fail, info          | refused, given up or aborted; or in doubt                     |                      |
 * | enqueued  | info, alone         | the store acknowledged that this client waits                 |                      |
 * | renew     | invoke              | the client sends a renewal                                    |                      |
 * | renew     | ok, may stand alone | the lease lasts until the deadline                            | deadline_ns          |
 * | renew     | fail, info          | refused; or in doubt: the old deadline stays                  |                      |
 * | downgrade | invoke              | a writer becomes a reader with the weight `weight`            | weight               |
 * | downgrade | ok, fail, info      | the answer                                                    |                      |
 * | release   | invoke              | the holder releases, and no longer trusts its lease           |                      |
 * | release   | ok, fail, info      | `released`; `lost`; or in doubt                               |                      |
 * | lost      | info, alone         | the holder learned that its lease has ended                   |                      |
 * | held      | ok, fail, alone     | the holder read `held`, and saw true or false                 |                      |
 * | write     | invoke              | a holder sets the counter, with the token of its lease        |                      |
 * | write     | ok                  | the resource accepted the write                               | value                |
 * | write     | fail, info          | refused, because of the token `fence`; or in doubt            |                      |
 * | read      | invoke, fail, info  | a client reads the counter                                    |                      |
 * | read      | ok                  | the value of the counter                                      | value                |
 * | kill      | info, alone         | the process `pid` ends now; any process may write this        |                      |
 * | truth     | info, alone         | the time in which the server held the lock for an owner       | owner, start_ns      |
 *
 * `mode`, `weight`, `capacity`, `claim` and `note` are allowed in every event. Weight and capacity
 * are read from `acquire ok`. Their default is 1; an exclusive claim weighs the whole capacity.
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

/** What an event is about: the column `f` of the table. */
export type HistoryAction = (typeof HISTORY_ACTIONS)[number]
/** A request, or which kind of answer. */
export type HistoryType = (typeof HISTORY_TYPES)[number]
/** Whether a claim shares the lock. */
export type HistoryMode = (typeof HISTORY_MODES)[number]

/** One event of a history, as one line of JSON. */
export interface HistoryEvent {
  /**
   * When it was written: nanoseconds of a monotonic clock that all processes of the history share,
   * such as `process.hrtime` on one machine. The events of one process are in the order of its
   * clock.
   */
  readonly t_ns: bigint
  readonly pid: number
  /** The actor. Process and client together identify it. */
  readonly client: string
  /** The full name of the lock. Empty for a `kill`, which ends all holds of a process. */
  readonly key: string
  readonly f: HistoryAction
  readonly type: HistoryType
  /** `exclusive` when the weight is the whole capacity. */
  readonly mode?: HistoryMode
  readonly weight?: number
  readonly capacity?: number
  /** The id of the claim in the store. Leases that a cohort hands on share it. */
  readonly claim?: string
  /** The fencing token: of a lease, of a write, or the first one of a server's grant. */
  readonly token?: bigint
  /** How many tokens the grant reserved, from `token` on. Default: 1. */
  readonly tokens?: number
  /** The largest token that the protected resource has seen. */
  readonly fence?: bigint
  /** The value of the counter. */
  readonly value?: number
  /** Until when the holder trusts its lease, by what it knew then. Default: without an end. */
  readonly deadline_ns?: bigint
  /** The id of the claim for which the server held the lock. */
  readonly owner?: string
  /** When the server began and ceased to hold it, on the clock of `t_ns`. Default: no end. */
  readonly start_ns?: bigint
  readonly end_ns?: bigint
  /** A note for people. No checker reads it. */
  readonly note?: string
}

/** An event without its time, process and client. */
export type HistoryNote = Omit<HistoryEvent, 't_ns' | 'pid' | 'client'>
