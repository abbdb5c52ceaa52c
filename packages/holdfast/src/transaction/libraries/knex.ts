/** Transactions of Knex, over `pg` and `mysql2`. */
import { LockUsageError } from '../../errors.js'
import {
  checkHandle,
  checkDialect,
  refuseTransaction,
  type Dialect,
  type SqlSession,
  type TransactionalDatabase,
} from '../database.js'
import { checkNoOptions } from '../../options/known-keys.js'
import { checkedTransactions } from '../open-transaction.js'
import { rowsOf } from './mysql2.js'

/** What `knex.transaction` gives to its callback. */
export interface KnexTransaction {
  readonly isTransaction?: boolean
  readonly client: { readonly dialect?: string }
  raw(sql: string, values: never): PromiseLike<unknown>
}

/** As much of a Knex instance as is used. */
export interface KnexDatabase<Tx extends KnexTransaction> {
  readonly isTransaction?: boolean
  readonly client: { readonly dialect?: string }
  transaction(work: (tx: Tx) => Promise<unknown>): PromiseLike<unknown>
}

/** Transactions through an instance of Knex. */
export function knexTransactions<Tx extends KnexTransaction>(
  knex: KnexDatabase<Tx>,
): TransactionalDatabase<Tx>
export function knexTransactions<Tx extends KnexTransaction>(
  knex: KnexDatabase<Tx>,
  extra?: unknown,
): TransactionalDatabase<Tx> {
  checkNoOptions('knexTransactions', extra)
  checkHandle(knex, 'An instance of Knex', 'client')
  const dialect = dialectOf(knex)
  refuseTransaction(knex.isTransaction === true, 'Knex')
  return checkedTransactions({
    dialect,
    async transaction<T>(work: (tx: Tx) => Promise<T>) {
      let working: Promise<{ result: T } | undefined> = Promise.resolve(undefined)
      const committed = await knex.transaction(
        (tx) => (working = work(tx).then((result) => ({ result }))),
      )
      // Knex resolves when the transaction ends, though the work may have ended it itself and go
      // on.
      const [outcome] = await Promise.allSettled([working])
      if (outcome.status === 'rejected') throw endedByWork(outcome.reason)
      if (outcome.value === undefined || outcome.value !== committed) throw endedByWork()
      return outcome.value.result
    },
    query: async (tx, sql, values) => knexSession(tx).query(sql, values),
  })
}

/** @throws LockUsageError outside of a transaction. */
export function knexSession(tx: KnexTransaction): SqlSession {
  if (tx.isTransaction !== true) {
    throw new LockUsageError(
      'A transaction is needed here: what knex.transaction(work) gives to work.',
    )
  }
  const dialect = dialectOf(tx)
  return {
    dialect,
    identity: tx.client,
    async query(sql, values) {
      if (dialect === 'mysql')
        return rowsOf(((await tx.raw(sql, [...values] as never)) as unknown[])[0])
      const [text, bindings] = questionMarks(sql, values)
      return ((await tx.raw(text, bindings as never)) as { rows: unknown[] }).rows
    },
  }
}

/** @param cause what the work failed with after that, perhaps for that very reason */
function endedByWork(cause?: unknown): LockUsageError {
  return new LockUsageError(
    'The work ended its transaction itself, by commit or rollback of Knex. What it wrote after that was in no transaction. ' +
      'Let the transaction end with the work, and throw to roll it back.',
    { cause },
  )
}

/**
 * Knex writes `?` for a value, and numbers them by itself. Behind a letter `$1` is part of a name.
 */
function questionMarks(sql: string, values: readonly unknown[]): [string, unknown[]] {
  const bindings: unknown[] = []
  const text = sql
    .replaceAll('?', '\\?')
    .replaceAll(/(?<![\w$"\u0080-\uffff])\$(\d+)/g, (_all, number) => {
      bindings.push(values[Number(number) - 1])
      return '?'
    })
  return [text, bindings]
}

function dialectOf({ client }: { readonly client: { readonly dialect?: string } }): Dialect {
  const name = client.dialect === 'postgresql' ? 'postgres' : client.dialect
  return checkDialect(name, 'Knex')
}
