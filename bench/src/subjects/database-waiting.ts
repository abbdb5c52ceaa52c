/**
 * What it costs a database when many wait: `database-waiting.js URL`. A hundred locks are held, and
 * four processes with 250 waiters each wait for them. Counted are statements a second, as the
 * server counts them, and connections.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createLocks, type Store } from 'holdfast'
import { mysqlStore } from 'holdfast/mysql'
import { postgresStore } from 'holdfast/postgres'
import { createPool } from 'mysql2/promise'
import { Client, Pool } from 'pg'

const LOCKS = 100
const PROCESSES = 4
const WAITERS = 250
const POOL = 4
const QUIET_MS = 3000
const WINDOW_MS = 10_000
const READY_MS = 60_000
/** All of them come at once, and wait for each other's rows then. */
const ANSWER_MS = 60_000

/** Questions to the server about itself. */
interface Gauge {
  statements(): Promise<number>
  connections(): Promise<number>
  /** Claims in the queues of all locks. */
  queued(): Promise<number>
}

const [url = '', role] = process.argv.slice(2)
const isMysql = url.startsWith('mysql:')
const locks = createLocks(store())
const names = Array.from({ length: LOCKS }, (_, index) => `held ${index}`)
if (role === undefined) await lead()
else await follow()

function store(): Store {
  if (isMysql)
    return mysqlStore({
      pool: createPool({ uri: url, connectionLimit: POOL }),
      requestTimeoutMs: ANSWER_MS,
    })
  return postgresStore({
    pool: new Pool({ connectionString: url, max: POOL }),
    requestTimeoutMs: ANSWER_MS,
  })
}

async function follow(): Promise<void> {
  const waits = Array.from({ length: WAITERS }, (_, index) =>
    locks.mutex(names[index % LOCKS] ?? '').acquire(),
  )
  await Promise.all(waits)
}

async function lead(): Promise<void> {
  const gauge = await (isMysql ? mysqlGauge() : postgresGauge())
  await Promise.all(names.map((name) => locks.mutex(name).acquire()))
  const before = await gauge.connections()
  const followers = Array.from({ length: PROCESSES }, () =>
    fork(fileURLToPath(import.meta.url), [url, 'wait']),
  )
  try {
    await untilQueued(gauge)
    // What was needed to get into the queues is over by then.
    await pause(QUIET_MS)
    const used = ((await gauge.connections()) - before) / PROCESSES
    const [startMs, start] = [performance.now(), await gauge.statements()]
    await pause(WINDOW_MS)
    const perSecond = (((await gauge.statements()) - start) / (performance.now() - startMs)) * 1000
    console.log(JSON.stringify({ perSecond, beyond: Math.max(0, used - POOL) }))
  } finally {
    await Promise.all(followers.map(end))
  }
  process.exit(0)
}

async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

/** In each process one of its waiters stands in the queue of a lock. */
async function untilQueued(gauge: Gauge): Promise<void> {
  const endMs = performance.now() + READY_MS
  while ((await gauge.queued()) < PROCESSES * LOCKS) {
    if (performance.now() > endMs) throw new Error('not all waiters came into the queues')
    await pause(100)
  }
}

async function postgresGauge(): Promise<Gauge> {
  const client = new Client(url)
  await client.connect()
  await client.query('create extension if not exists pg_stat_statements')
  const ask = async (text: string): Promise<number> =>
    Number((await client.query<{ n: string }>(text)).rows[0]?.n)
  return {
    statements: () => ask('select sum(calls) as n from pg_stat_statements'),
    connections: () =>
      ask(`select count(*) as n from pg_stat_activity where backend_type = 'client backend'`),
    queued: () => ask('select count(*) as n from holdfast.waiters'),
  }
}

async function mysqlGauge(): Promise<Gauge> {
  const pool = createPool({ uri: url, connectionLimit: 1 })
  const ask = async (sql: string): Promise<number> => {
    const [rows] = await pool.query(sql)
    return Number(Object.values((rows as Record<string, unknown>[])[0] ?? {}).at(-1))
  }
  return {
    statements: () => ask(`show global status like 'Questions'`),
    connections: () => ask(`show global status like 'Threads_connected'`),
    queued: () => ask('select count(*) as n from holdfast_waiters'),
  }
}
