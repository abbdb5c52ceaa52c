/** Named locks of MySQL and MariaDB (GET_LOCK), held by a session. */
import { createHash } from 'node:crypto'
import { systemRandom } from '../../../clock/clock.js'
import { StoreUnavailableError, type LockError } from '../../../errors.js'
import { endWhen } from '../../session/give-up.js'
import type { LockConnection, SessionPort } from '../../session/port.js'
import { limitOf, statement, type MysqlConnection, type Connections } from '../clients.js'
import { explain } from '../errors.js'

/**
 * The server's limit is a year, and on Windows 2 147 483 s, which is about what a timer here can count to: of a larger number
 * of milliseconds it makes 1, and the session would be given up while it holds.
 */
const LONGEST_MS = 2 ** 31 - 1000

/** As much of the connection below the promises as is used. */
interface WithEvents {
  readonly connection?: { on(event: 'error' | 'end', listener: () => void): unknown }
}

type Row = Readonly<Record<string, unknown>>

export class MysqlSessionPort implements SessionPort {
  readonly name = 'mysql'
  readonly sharing = false
  readonly longestMs = LONGEST_MS
  /** The server counts in whole seconds. */
  readonly stepMs = 1000
  readonly #pool: Connections

  constructor(pool: Connections) {
    this.#pool = pool
  }

  async open(timeoutMs: number, givenUp: AbortSignal): Promise<LockConnection> {
    if (limitOf(this.#pool) < 2) throw unsuitable(TOO_SMALL)
    try {
      const connection = await this.#pool.getConnection()
      endWhen(givenUp, () => connection.destroy())
      try {
        return await this.#prepare(connection, timeoutMs, givenUp)
      } catch (error) {
        connection.destroy()
        throw error
      }
    } catch (error) {
      throw explain(error, '')
    }
  }

  async #prepare(
    connection: MysqlConnection,
    timeoutMs: number,
    givenUp: AbortSignal,
  ): Promise<LockConnection> {
    const mark = systemRandom.id()
    const locks = new NamedLocks(connection, mark)
    await connection.query(statement(`set @holdfast_session = '${mark}'`))
    const server = await ask(connection, 'select @@global.read_only as replica')
    if (Number(server?.['replica']) > 0) throw unsuitable(REPLICA)
    const [wsrep] = (await connection.query(statement("show status like 'wsrep_ready'")))[0] as Row[]
    if (wsrep?.['Value'] === 'ON') throw unsuitable(GALERA)
    if (await this.#isPooled(mark, givenUp)) throw pooled()
    await connection.query(statement(`set session wait_timeout = ${Math.ceil(timeoutMs / 1000)}`))
    await locks.touch()
    return locks
  }

  /** A second connection must not find what the first has marked. */
  async #isPooled(mark: string, givenUp: AbortSignal): Promise<boolean> {
    const other = await this.#pool.getConnection()
    endWhen(givenUp, () => other.destroy())
    try {
      await other.query(statement('start transaction'))
      return (await ask(other, 'select @holdfast_session as mark'))?.['mark'] === mark
    } finally {
      other.destroy()
    }
  }
}

class NamedLocks implements LockConnection {
  readonly #connection: MysqlConnection
  readonly #mark: string
  #ended = false

  constructor(connection: MysqlConnection, mark: string) {
    this.#connection = connection
    this.#mark = mark
    const over = (): void => void (this.#ended = true)
    const { connection: inner } = connection as WithEvents
    inner?.on('error', over)
    inner?.on('end', over)
  }

  get ended(): boolean {
    return this.#ended
  }

  async take(lock: string): Promise<boolean> {
    return Number(await this.#ask(`get_lock('${nameOf(lock)}', 0)`)) === 1
  }

  async drop(lock: string): Promise<void> {
    await this.#ask(`release_lock('${nameOf(lock)}')`)
  }

  async touch(): Promise<void> {
    await this.#ask('1')
  }

  end(): void {
    this.#ended = true
    this.#connection.destroy()
  }

  /** Where somebody else's session answers, it does nothing. */
  async #ask(what: string): Promise<unknown> {
    const mine = `@holdfast_session = '${this.#mark}'`
    let row: Row | undefined
    try {
      row = await ask(this.#connection, `select ${mine} as mine, if(${mine}, ${what}, null) as answer`)
    } catch (error) {
      throw explain(error, '')
    }
    if (Number(row?.['mine']) === 1) return row?.['answer']
    this.end()
    throw pooled()
  }
}

async function ask(connection: MysqlConnection, sql: string): Promise<Row | undefined> {
  const [rows] = await connection.query(statement(sql))
  return (rows as Row[])[0]
}

/** 64 characters are what MySQL allows, and letters of one case: there it takes `A` for `a`. */
function nameOf(lock: string): string {
  return createHash('sha256').update(lock).digest('hex')
}

const REPLICA =
  'This server takes no writes: its named locks are seen by nobody who uses the primary. Connect to the primary.'
const GALERA =
  'This server is a node of a Galera cluster, whose named locks are its own: clients of another node would get the same ' +
  "lock. Leave out mode: 'session'."

const TOO_SMALL =
  'Session mode keeps one connection of the pool for each TTL, and needs another one for a moment. Give the pool a ' +
  'connectionLimit of 2 or more.'

function pooled(): LockError {
  return unsuitable(
    'Statements of one connection are answered by different sessions of the server: a proxy that shares them is in ' +
      "between, behind which two clients could get the same lock. Connect directly, or leave out mode: 'session'.",
  )
}

function unsuitable(text: string): LockError {
  return new StoreUnavailableError(text, { code: 'STORE_CONFIG', store: 'mysql' })
}
