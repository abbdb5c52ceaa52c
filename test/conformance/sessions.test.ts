/** The conformance suite over the session mode of PostgreSQL and MariaDB, as far as its traits go. */
import { conformanceSuite } from 'holdfast/conformance'
import { afterAll, describe, test } from 'vitest'
import { startMariadb } from '@holdfast/servers/mariadb'
import { startPostgres } from '@holdfast/servers/postgres'
import { planOf } from '../support/plan.js'
import { mysqlSessionSubject, postgresSessionSubject } from './subjects/sessions.js'

const [pg, mariadb] = await Promise.all([startPostgres(), startMariadb()])

afterAll(() => Promise.all([pg.remove(), mariadb.remove()]))
// Each client of a session makes its connections anew, which is most of what this costs.
const libraries = planOf() === 'full' ? (['pg', 'postgres'] as const) : (['pg'] as const)
if (libraries.length === 1)
  console.log('Session mode through "postgres": its suite runs with HOLDFAST_TEST=full')
for (const library of libraries) {
  conformanceSuite(postgresSessionSubject(library, pg), { describe, test, skip: test.skip })
}
conformanceSuite(mysqlSessionSubject(mariadb), { describe, test, skip: test.skip })
