/** The subjects on PostgreSQL, all over `pg`. */
import { EventEmitter, once } from 'node:events'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Kysely, PostgresDialect } from 'kysely'
import { postgresSchema, postgresStore } from 'holdfast/postgres'
import { Client, Pool } from 'pg'
import type { Locker } from '../locker.js'
import { holdfast, requestsOf, unawaited, verrou } from './database-common.js'

const CHANNEL = 'naive'
/** What a missed message costs. */
const MISSED_MS = 1000

export async function preparePostgres(url: string): Promise<void> {
  const client = new Client(url)
  await client.connect()
  await client.query(postgresSchema())
  await client.query(
    'create table lease_rows (name text primary key, owner text, token bigint, expires timestamptz) with (fillfactor = 50)',
  )
  await client.query(
    'create table verrou (key varchar(255) primary key, owner varchar(255) not null, expiration bigint)',
  )
  await client.end()
}

export function postgresLocker(subject: string, url: string, connections: number): Locker {
  const pool = new Pool({ connectionString: url, max: connections })
  switch (subject) {
    case 'cohort':
    case 'fifo':
    case 'run':
      return holdfast(postgresStore({ pool }), subject)
    case 'statements':
      return statements(pool)
    case 'floor':
      return floor(pool)
    case 'floor-run':
      return swaps(pool)
    case 'naive':
      return naive(pool, url)
    case 'advisory':
      return advisory(pool)
    case 'verrou':
      return verrou(new Kysely({ dialect: new PostgresDialect({ pool }) }))
    default:
      throw new Error(`There is no subject ${subject}.`)
  }
}

function statements(pool: Pool): Locker {
  const text =
    'select "holdfast".apply_one_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) as answers'
  const send = (request: ByHand): Promise<unknown> => {
    const { verb, lock, id, owner, kind, capacity, weight, tokens, ttlMs, enqueue } = request
    const values = [verb, lock, id, owner, kind, capacity, weight, tokens, ttlMs, enqueue]
    return pool.query({
      name: 'by_hand',
      text,
      values: [...values, request['heartbeatMs'], request['channel']],
    })
  }
  return (lock) => async () => {
    const { acquire, release } = requestsOf(lock, randomUUID())
    await send(acquire)
    return () => send(release)
  }
}

/** A request, as `requestsOf` makes it. */
type ByHand = Readonly<Record<string, unknown>>

const TAKE = `insert into lease_rows as l (name, owner, token, expires)
  values ($1, $2, 1, clock_timestamp() + interval '30 s')
  on conflict (name) do update set owner = excluded.owner, token = l.token + 1,
    expires = clock_timestamp() + interval '30 s' where l.expires <= clock_timestamp() returning token`
const GIVE_BACK = `update lease_rows set expires = '-infinity' where name = $1 and owner = $2 returning name`

/** Prepared statements, the first of which inserts nothing once the row is there. */
function floor(pool: Pool): Locker {
  return (lock) => async () => {
    const values = [lock, randomUUID()]
    const { rowCount } = await pool.query({ name: 'retake', text: RETAKE, values })
    if (rowCount !== 1) {
      const made = await pool.query(TAKE, values)
      if (made.rowCount !== 1) throw new Error('A free lock was busy.')
    }
    return () => pool.query({ name: 'give_back', text: GIVE_BACK, values })
  }
}

/**
 * Does not lock the row of a lock that is held, as TAKE would: in favour of the loops that retry.
 */
const RETAKE = `update lease_rows set owner = $2, token = token + 1, expires = clock_timestamp() + interval '30 s'
  where name = $1 and expires <= clock_timestamp() returning token`

const SWAP = `update lease_rows set owner = $3, token = token + 1, expires = clock_timestamp() + interval '30 s'
  where name = $1 and owner = $2 returning token`

/** Each attempt takes the row from the holder before. */
function swaps(pool: Pool): Locker {
  return unawaited(
    (name, owner) => pool.query(TAKE, [name, owner]),
    async (...values) => {
      const { rowCount } = await pool.query({ name: 'swap', text: SWAP, values })
      if (rowCount !== 1) throw new Error('A held lock was lost.')
    },
  )
}

/** One connection listens; every waiter of this process retries after a release by any process. */
function naive(pool: Pool, url: string): Locker {
  const bell = new EventEmitter().setMaxListeners(0)
  const listener = new Client(url)
  listener.on('notification', () => bell.emit('rung'))
  const listening = listener.connect().then(() => listener.query(`listen ${CHANNEL}`))
  const release = `with released as (${GIVE_BACK}) select pg_notify('${CHANNEL}', name) from released`
  return (name) => async () => {
    await listening
    const values = [name, randomUUID()]
    for (let text = TAKE; ; text = RETAKE) {
      const over = new AbortController()
      const options = { signal: over.signal }
      const rung = Promise.race([once(bell, 'rung', options), pause(MISSED_MS, undefined, options)])
      const { rowCount } = await pool.query(text, values)
      if (rowCount !== 1) await rung
      rung.catch(() => undefined) // given up here
      over.abort()
      if (rowCount === 1) return () => pool.query(release, values)
    }
  }
}

/** A connection for each lock that is held or waited for. */
function advisory(pool: Pool): Locker {
  return (name) => async () => {
    const client = await pool.connect()
    await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [name])
    return async () => {
      await client.query('select pg_advisory_unlock(hashtextextended($1, 0))', [name])
      client.release()
    }
  }
}
