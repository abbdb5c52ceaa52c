/** The conformance suite over PostgreSQL, through `pg`, killed processes included. */
import { conformanceSuite } from '@holdfast/conformance'
import { afterAll } from 'vitest'
import { startPostgres } from '@holdfast/servers/postgres'
import { postgresSubject } from './subjects/postgres.js'
import { runner } from './runner.js'

const server = await startPostgres({ settings: { max_connections: '300' } })

afterAll(() => server.remove())
conformanceSuite(postgresSubject('pg', server), runner)
