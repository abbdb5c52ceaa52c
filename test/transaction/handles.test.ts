/** What is no handle of the library is refused before anything is begun, and said to be. */
import {
  drizzleTransactions,
  knexTransactions,
  kyselyTransactions,
  mysqlTransactions,
  pgTransactions,
  postgresJsTransactions,
  prismaTransactions,
  typeormTransactions,
} from 'holdfast/transaction'
import { Client } from 'pg'
import { expect, test } from 'vitest'

const libraries: [transactions: (handle: never) => unknown, wanted: string][] = [
  [pgTransactions, 'A pool of pg'],
  [postgresJsTransactions, 'An instance of postgres'],
  [mysqlTransactions, 'A pool of mysql2'],
  [kyselyTransactions, 'An instance of Kysely'],
  [drizzleTransactions, 'A database of Drizzle'],
  [knexTransactions, 'An instance of Knex'],
  [prismaTransactions, 'A Prisma client'],
  [typeormTransactions, 'A data source of TypeORM'],
]

test.each(libraries)('%o takes nothing else', (transactions, wanted) => {
  for (const [handle, shown] of [
    [undefined, 'undefined'],
    [null, 'null'],
    ['postgres://localhost', '"postgres://localhost"'],
    [{}, 'an object'],
  ]) {
    expect(() => transactions(handle as never)).toThrow(
      expect.objectContaining({
        code: 'LOCK_USAGE',
        message: `${wanted} is needed here, to begin transactions with, and not ${shown as string}.`,
      }),
    )
  }
})

test('a client of pg is refused before it is connected or asked', () => {
  const client = new Client({ host: '127.0.0.1', port: 1 })
  expect(() => pgTransactions(client as never)).toThrow('a pool of pg, and not a single client')
})
