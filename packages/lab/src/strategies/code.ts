/**
 * The code of each strategy, as a reader would write it. Statements and commands are those that the
 * lab runs. The parts that drive faults and count buyers are left out.
 */
import { SCRIPTS } from '@holdfast/broken-locks'

/** The sale that most strategies put under their lock. */
const SELL = `async function sell(db) {
  const look = 'select amount from stock where item = ?'
  const [row] = await db.query(look, [item])
  if (row.amount <= 0) return 'soldOut'
  const write = 'update stock set amount = ? where item = ?'
  await db.change(write, [row.amount - 1, item])
  await db.change('insert into orders values (?, ?)', [item, buyer])
  return 'sold'
}`

/** Returns a lock of the ladder: how it is taken, and how it is freed. */
function onRedis(take: string, free: string, ...scripts: readonly string[]): string {
  return [
    ...scripts.map((name) => `const ${constantOf(name)} = \`\n${luaOf(name)}\n\``),
    `${take}
try {
  return await sell(db)
} finally {
  ${free.replaceAll('\n', '\n  ')}
}`,
  ].join('\n')
}

function constantOf(name: string): string {
  return name.toUpperCase().replaceAll('-', '_')
}

const WIDEST_LUA = 76

function luaOf(name: string): string {
  const lua = SCRIPTS.find((script) => script.name === name)?.lua.trim() ?? ''
  const lines = lua.split('\n')
  return lines
    .map((line) => (line.length > WIDEST_LUA ? line.replace(' and ', '\n  and ') : line))
    .join('\n')
}

const SETNX = `while ((await redis.call('SETNX', lock, 1)) !== 1) await retryDelay()`
const DEL = `await redis.call('DEL', lock)`
const SET_OWNER = `const args = [lock, owner, 'NX', 'PX', ttlMs]
while ((await redis.call('SET', ...args)) !== 'OK') await retryDelay()`
const FREE_OWNED = 'await redis.eval(COMPARE_AND_DELETE, 1, lock, owner)'
/** Renews at every third of the TTL. */
const WATCHDOG = `const watchdog = setInterval(renew, ttlMs / 3)`

const FENCED = `return await locks.mutex('shop').run((lease) =>
  shop.transaction(async (tx) => {
    await tx.fence(lease)
    const sale = await sell(tx)
    lease.assertHeld()
    return sale
  }),
)`
const COVERED = `const lock = locks.mutex('shop')
return await locks.transaction(lock, database, (tx) => sell(tx))`

function withStore(store: string, code: string): string {
  return `const locks = createLocks(${store})\n${code}`
}

function selectForUpdate(column: string, value: string): string {
  return `return await shop.transaction(async (tx) => {
  const look = 'select amount from stock where ${column} = ? for update'
  const [row] = await tx.query(look, [${value}])
  if (row.amount <= 0) return 'soldOut'
  const write = 'update stock set amount = ? where item = ?'
  await tx.change(write, [row.amount - 1, item])
  await tx.change('insert into orders values (?, ?)', [item, buyer])
  return 'sold'
})`
}

const CODE: Readonly<Record<string, string>> = {
  'no-lock': `const look = 'select amount from stock where item = ?'
const [stock] = await db.query(look, [item])
const count = 'select count(*) as n from orders where item = ?'
const [sold] = await db.query(count, [item])
if (stock.amount - sold.n <= 0) return 'soldOut'
await db.change('insert into orders values (?, ?)', [item, buyer])
return 'sold'`,
  'read-modify-write': 'return await sell(db)',
  'check-then-decrement': `const look = 'select amount from stock where item = ?'
const [row] = await db.query(look, [item])
if (row.amount <= 0) return 'soldOut'
const take = 'update stock set amount = amount - 1 where item = ?'
await db.change(take, [item])
await db.change('insert into orders values (?, ?)', [item, buyer])
return 'sold'`,
  'local-lock': withStore('memoryStore()', `return await locks.mutex('shop').run(() => sell(db))`),
  'released-before-commit': `return await shop.transaction(async (tx) => {
  const lease = await locks.mutex('shop').acquire()
  const sale = await sell(tx)
  await lease.release()
  return sale
})`,
  'unique-row': `while (!(await inserted('insert into row_locks values (?)', ['shop']))) {
  await retryDelay()
}
try {
  return await sell(db)
} finally {
  await db.change('delete from row_locks where name = ?', ['shop'])
}`,
  'redis-v1-setnx': onRedis(SETNX, DEL),
  'redis-v2-setnx-expire': onRedis(
    `${SETNX}\nawait redis.call('EXPIRE', lock, Math.ceil(ttlMs / 1000))`,
    DEL,
  ),
  'redis-v3-plain-del': onRedis(
    `const args = [lock, 1, 'NX', 'EX', Math.ceil(ttlMs / 1000)]
while ((await redis.call('SET', ...args)) !== 'OK') await retryDelay()`,
    DEL,
  ),
  'redis-v4-owner': onRedis(SET_OWNER, FREE_OWNED, 'compare-and-delete'),
  'redis-v5-watchdog': onRedis(
    `${SET_OWNER}
const renew = () => redis.eval(RENEW, 1, lock, owner, ttlMs)
${WATCHDOG}`,
    `clearInterval(watchdog)\n${FREE_OWNED}`,
    'renew',
    'compare-and-delete',
  ),
  'redis-v6-reentrant': onRedis(
    `const enter = () => redis.eval(ENTER, 1, lock, owner, ttlMs)
while ((await enter()) !== 1) await retryDelay()
const renew = () => redis.eval(RENEW_HASH, 1, lock, owner, ttlMs)
${WATCHDOG}`,
    `clearInterval(watchdog)\nawait redis.eval(LEAVE, 1, lock, owner, ttlMs)`,
    'enter',
    'renew-hash',
    'leave',
  ),
  'select-for-update-no-index': selectForUpdate('title', `'A book'`),
  'select-for-update': selectForUpdate('item', 'item'),
  'optimistic-version': `for (;;) {
  const look = 'select amount, version from stock where item = ?'
  const [row] = await db.query(look, [item])
  if (row.amount <= 0) return 'soldOut'
  const sold = await shop.transaction(async (tx) => {
    const changed = await tx.change(
      'update stock set amount = amount - 1, version = version + 1 ' +
        'where item = ? and version = ?',
      [item, row.version],
    )
    if (changed === 0) return false
    await tx.change('insert into orders values (?, ?)', [item, buyer])
    return true
  })
  if (sold) return 'sold'
}`,
  'holdfast-embedded': withStore('embeddedStore({ directory })', FENCED),
  'holdfast-redis': withStore('redisStore({ client })', FENCED),
  'holdfast-redlock': withStore('redlockStore({ clients })', FENCED),
  'holdfast-zookeeper': withStore('zookeeperStore({ connect })', FENCED),
  'holdfast-etcd': withStore('etcdStore({ endpoints })', FENCED),
  'holdfast-postgres': withStore('postgresStore({ pool })', COVERED),
  'holdfast-mysql': withStore('mysqlStore({ pool })', COVERED),
  'holdfast-fifo': `const store = embeddedStore({ directory })
const locks = createLocks(store, { fairness: 'fifo' })
return await locks.mutex('shop').run((lease) =>
  shop.transaction(async (tx) => {
    const sale = await sell(tx)
    lease.assertHeld()
    return sale
  }),
)`,
  striped: `const stripes = locks.striped('stock', { stripes: segments })
const own = stripes.indexOf(buyer)
for (;;) {
  if (await stripes.at(own).run(() => sellFrom(own))) return 'sold'
  const richest = await fullest()
  if (richest === undefined) return 'soldOut'
  if (richest === own) continue
  const both = [stripes.at(richest), stripes.at(own)]
  await locks.multi(both).run(() => moveHalf(richest, own))
}`,
}

/** Returns the code of a strategy, with that of the sale if it has one under its lock. */
export function codeOf(strategy: string): string {
  const code = CODE[strategy] ?? ''
  return code.includes('sell(') ? `${SELL}\n\n${code}` : code
}

/** Returns the code of each strategy. The sale stands in the first that needs it. */
export function codesOf(strategies: readonly string[]): ReadonlyMap<string, string> {
  const first = strategies.find((strategy) => CODE[strategy]?.includes('sell(') === true)
  return new Map(
    strategies.map((strategy) => [
      strategy,
      strategy === first ? codeOf(strategy) : (CODE[strategy] ?? ''),
    ]),
  )
}
