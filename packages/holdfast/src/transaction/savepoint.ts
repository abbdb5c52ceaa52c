/**
 * A savepoint of MySQL, by which the end of a transaction is seen: it ends with the transaction
 * that it was made in.
 */
import { isNoSavepoint, isNotPreparable, isTransactionOpen } from './errors.js'

type Query = (sql: string, values: readonly string[]) => Promise<unknown>

/** Makes a savepoint in the transaction, or replaces the one of that name. */
export async function makeSavepoint(query: Query, name: string): Promise<void> {
  try {
    await query(`savepoint ${name}`, [])
  } catch (error) {
    if (!isNotPreparable(error)) throw error
  }
}

/** Releases the savepoint. Resolves to false when its transaction has ended. */
export async function releaseSavepoint(query: Query, name: string): Promise<boolean> {
  try {
    await query(`release savepoint ${name}`, [])
    return true
  } catch (error) {
    if (isNoSavepoint(error)) return false
    if (isNotPreparable(error)) return isInTransaction(query)
    throw error
  }
}

/**
 * Whether a transaction is open. MySQL has no savepoints in prepared statements, which is all that
 * Prisma sends. It has no BEGIN in them either, so that no other transaction can have begun in the
 * place of the first one.
 */
async function isInTransaction(query: Query): Promise<boolean> {
  try {
    // Is about the next transaction, and changes nothing about it. MySQL refuses it until this one
    // has ended.
    await query('set transaction read write', [])
    return false
  } catch (error) {
    if (isTransactionOpen(error)) return true
    throw error
  }
}
