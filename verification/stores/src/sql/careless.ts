/**
 * A part of the program that shares the pool of the locks, and returns its connections inside of
 * transactions. It rolls back later, and with that all work of another user there.
 */

/** As much of a borrowed connection as is used, of `pg` and of `mysql2`. */
interface Borrowed {
  query(text: string): Promise<unknown>
  release(): void
}

/** As much of an instance of `postgres` as is used. */
interface PostgresJs {
  readonly options: { readonly max: number }
  unsafe(text: string): PromiseLike<unknown>
}

/**
 * Borrows from `postgres`. It refuses a BEGIN outside of its own transactions, but only after the
 * server has begun. It lends its connections in turn, so that many statements reach each one.
 */
export async function borrowInTurn(sql: PostgresJs): Promise<Borrowed> {
  return {
    async query(text) {
      const times = text === 'begin' ? 1 : sql.options.max
      for (let count = 0; count < times; count += 1) {
        await sql.unsafe(text).then(undefined, () => undefined) // under a fault, or refused
      }
    },
    release: () => undefined,
  }
}

/** How often one is left, and for how long, in milliseconds: at least, and at most. */
const EVERY_MS = [150, 600] as const
const LEFT_MS = [5, 120] as const

/** Leaves connections inside of transactions until the returned function is called. */
export function leaveTransactions(borrow: () => Promise<Borrowed>): () => void {
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  async function leave(): Promise<void> {
    const connection = await borrow()
    await connection.query('begin').finally(() => connection.release())
    setTimeout(() => void connection.query('rollback').catch(() => undefined), between(LEFT_MS))
  }
  function again(): void {
    if (isOver) return
    timer = setTimeout(() => {
      // Under a fault there is no connection, or it ends.
      void leave()
        .catch(() => undefined)
        .finally(again)
    }, between(EVERY_MS))
  }
  again()
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}

function between([least, most]: readonly [number, number]): number {
  return least + Math.random() * (most - least)
}
