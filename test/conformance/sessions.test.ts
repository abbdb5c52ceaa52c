/** The conformance suite over the session mode of PostgreSQL and MariaDB, as far as its traits go. */
import { conformanceSuite } from 'holdfast/conformance'
import { afterAll, describe, test } from 'vitest'
import { startMariadb } from '../servers/mariadb.js'
import { startPostgres } from '../servers/postgres.js'
import { mysqlSessionSubject, postgresSessionSubject } from './subjects/sessions.js'

const [pg, mariadb] = await Promise.all([startPostgres(), startMariadb()])

afterAll(() => Promise.all([pg.remove(), mariadb.remove()]))
for (const library of ['pg', 'postgres'] as const) {
  conformanceSuite(postgresSessionSubject(library, pg), { describe, test, skip: test.skip })
}
conformanceSuite(mysqlSessionSubject(mariadb), { describe, test, skip: test.skip })
