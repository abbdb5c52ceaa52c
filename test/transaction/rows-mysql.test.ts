/**
 * What MySQL and MariaDB each have of their own about locks on rows: their catalogues, and of which
 * moment they read.
 */
import { mysqlTransactions } from 'holdfast/mysql'
import { lockRow } from 'holdfast/transaction'
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'

const server = await startMysql()
const mariadb = server.product === 'MariaDB'
const pools: Pool[] = []

/** Its connections have not looked at any table yet. */
function freshPool(): Pool {
  const pool = createPool({ uri: server.url, connectionLimit: 3 })
  pools.push(pool)
  return pool
}

beforeAll(() => {
  server.sql(`create table seats (id int primary key, place varchar(9)) engine=InnoDB;
    insert into seats values (1, 'x'), (2, 'x')`)
})
afterAll(async () => {
  for (const pool of pools) await pool.end()
  await server.remove()
})

test('what is read after the lock was granted is what is there then', async () => {
  const [holder, waiter] = [mysqlTransactions(freshPool()), mysqlTransactions(freshPool())]
  const seat = { table: 'seats', key: { id: 1 } }
  let waiting: Promise<unknown> | undefined
  await holder.transaction(async (tx) => {
    await lockRow(tx, seat)
    waiting = waiter.transaction(async (its) => {
      await lockRow(its, seat)
      const [rows] = await its.query<RowDataPacket[]>('select place from seats where id = 2')
      return rows
    })
    // The list of transactions is renewed only when no session has read it for 100 ms.
    const waits = `select count(*) from information_schema.innodb_trx where trx_state = 'LOCK WAIT'`
    await expect.poll(() => server.sql(waits), { timeout: 5000, interval: 200 }).toBe('1')
    await tx.query(`update seats set place = 'new' where id = 2`)
  })
  expect(await waiting).toEqual([{ place: 'new' }])
})

test('refuses a unique index that would not be used, or is over parts of columns', async () => {
  server.sql(
    `create table poor (
       slug ${mariadb ? 'text' : 'varchar(9)'}, code int, name varchar(90), size int,
       comment varchar(9) comment 'unique key a (comment)', unique key by_name (name(5), size),
       ${mariadb ? 'unique key kept_as_hashes (slug)' : 'unique key ((lower(slug)))'},
       unique key by_code (code) ${mariadb ? 'ignored' : 'invisible'}
     ) engine=InnoDB;
     insert into poor values ('a', 1, 'c', 1, 'd'), ('b', 2, 'd', 2, 'e')`,
  )
  await mysqlTransactions(freshPool()).transaction(async (tx) => {
    const keys = [{ slug: 'a' }, { code: 1 }, { size: 1 }, { name: 'c', size: 1 }, { comment: 'd' }]
    for (const key of keys) {
      const locking = lockRow(tx, { table: 'poor', key }).catch((reason: unknown) => reason)
      expect(await locking, JSON.stringify(key)).toHaveProperty('code', 'LOCK_USAGE')
    }
  })
})

test.each(['', 'ANSI_QUOTES'])(
  'finds a unique index with columns of any name, in the mode "%s"',
  async (mode) => {
    const pool = freshPool()
    const key = { 'a `(b)': 1, 'c,"d': 'x' }
    const columns = ['`a ``(b)`', '`c,"d`']
    await pool.query('create or replace view seen as select * from seats')
    await pool.query('drop table if exists `odd ``" table`')
    await pool.query(
      `create table \`odd \`\`" table\` (${columns.join(' int, ')} varchar(20) comment 'x\\n  PRIMARY KEY (\`e\`)', e int,
       unique key \`e (\`\` f\` (${columns.join(' desc, ')}) comment 'g (\`h\`)') engine=InnoDB`,
    )
    await pool.query(`insert into \`odd \`\`" table\` values (1, 'x', 2)`)
    await mysqlTransactions(pool).transaction(async (tx) => {
      await tx.query(`set sql_mode = '${mode}'`)
      expect(await lockRow(tx, { table: 'odd `" table', key })).toMatchObject(key)
      await expect(lockRow(tx, { table: 'odd `" table', key: { e: 2 } })).rejects.toThrow(
        'no unique index',
      )
      await expect(lockRow(tx, { table: 'seen', key: { id: 1 } })).rejects.toThrow('a view')
      await expect(lockRow(tx, { table: 'nowhere', key: { id: 1 } })).rejects.toThrow(
        'There is no table',
      )
      await expect(lockRow(tx, { table: 'none.seats', key: { id: 1 } })).rejects.toThrow(
        'There is no table',
      )
    })
  },
)
