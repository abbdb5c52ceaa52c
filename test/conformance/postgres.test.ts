/** The conformance suite over the PostgreSQL store, through both client libraries, killed processes included. */
import { conformanceSuite } from 'holdfast/conformance'
import { afterAll, describe, test } from 'vitest'
import { startPostgres } from '@holdfast/servers/postgres'
import { postgresSubject } from './subjects/postgres.js'

const server = await startPostgres()

afterAll(() => server.remove())
for (const library of ['pg', 'postgres'] as const) {
  conformanceSuite(postgresSubject(library, server), { describe, test, skip: test.skip })
}
