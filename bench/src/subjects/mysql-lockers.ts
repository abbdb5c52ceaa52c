/** The subjects on MariaDB, all over `mysql2`. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Kysely, MysqlDialect } from 'kysely'
import { migrateMysql, mysqlStore } from 'holdfast/mysql'
import { createPool as createCallbackPool } from 'mysql2'
import { createPool, type Pool, type ResultSetHeader } from 'mysql2/promise'
import type { Locker } from '../locker.js'
import { holdfast, requestsOf, RETRY_MS, unawaited, verrou } from './database-common.js'

export async function prepareMysql(url: string): Promise<void> {
  const pool = createPool({ uri: url, connectionLimit: 1 })
  await migrateMysql(pool)
  await pool.query(
    'create table lease_rows (name varbinary(512) primary key, owner varchar(64), token bigint, expires datetime(6))',
  )
  await pool.query(
    'create table verrou (`key` varchar(255) primary key, owner varchar(255) not null, expiration bigint unsigned)',
  )
  await pool.end()
}

export function mysqlLocker(subject: string, uri: string, connections: number): Locker {
  const pool = createPool({ uri, connectionLimit: connections })
  switch (subject) {
    case 'cohort':
    case 'fifo':
    case 'run':
      return holdfast(mysqlStore({ pool }), subject)
    case 'statements':
      return statements(pool)
    case 'floor-run':
      return swaps(pool)
    case 'floor':
    case 'naive':
      return leaseRow(pool)
    case 'get_lock':
      return getLock(pool)
    case 'verrou': {
      const callbacks = createCallbackPool({ uri, connectionLimit: connections })
      return verrou(new Kysely({ dialect: new MysqlDialect({ pool: callbacks }) }))
    }
    default:
      throw new Error(`There is no subject ${subject}.`)
  }
}

function statements(pool: Pool): Locker {
  const sql = 'call holdfast_apply_one_v1(?, unhex(?), ?, ?, ?, ?, ?, ?, ?, ?)'
  return (name) => async () => {
    const id = randomUUID()
    const hex = Buffer.from(name).toString('hex')
    const { acquire, release } = requestsOf(hex, id)
    const { verb, owner, kind, capacity, weight, tokens, ttlMs } = acquire
    const claim = [owner, kind, capacity, weight, tokens, ttlMs].map(String)
    await pool.execute(sql, [verb, hex, id, ...claim, JSON.stringify([acquire])])
    const none = ['', 'mutex', '1', '0', '0', String(release.ttlMs)]
    return () => pool.execute(sql, [release.verb, hex, id, ...none, JSON.stringify([release])])
  }
}

const MAKE = `insert ignore into lease_rows values (?, '', 0, '1970-01-02')`

/** A loop that finds it busy retries soon: no message wakes it. */
function leaseRow(pool: Pool): Locker {
  const take =
    'update lease_rows set token = last_insert_id(token + 1), owner = ?, ' +
    'expires = utc_timestamp(6) + interval 30 second where name = ? and expires <= utc_timestamp(6)'
  const giveBack = `update lease_rows set expires = '1970-01-02' where name = ? and owner = ?`
  return (name) => async () => {
    const owner = randomUUID()
    for (let tries = 0; ; tries += 1) {
      const [{ affectedRows }] = await pool.execute<ResultSetHeader>(take, [owner, name])
      if (affectedRows === 1) return () => pool.execute(giveBack, [name, owner])
      if (tries === 0) await pool.execute(MAKE, [name])
      else await pause(RETRY_MS)
    }
  }
}

/** Each attempt takes the row from the holder before. */
function swaps(pool: Pool): Locker {
  const start = `insert into lease_rows values (?, ?, 1, utc_timestamp(6) + interval 30 second)`
  const swap =
    'update lease_rows set token = last_insert_id(token + 1), owner = ?, ' +
    'expires = utc_timestamp(6) + interval 30 second where name = ? and owner = ?'
  return unawaited(
    (name, owner) => pool.execute(start, [name, owner]),
    async (name, from, to) => {
      const [{ affectedRows }] = await pool.execute<ResultSetHeader>(swap, [to, name, from])
      if (affectedRows !== 1) throw new Error('A held lock was lost.')
    },
  )
}

/** A connection for each lock that is held or waited for. */
function getLock(pool: Pool): Locker {
  return (name) => async () => {
    const connection = await pool.getConnection()
    await connection.execute('select get_lock(?, 60)', [name])
    return async () => {
      await connection.execute('select release_lock(?)', [name])
      connection.release()
    }
  }
}
