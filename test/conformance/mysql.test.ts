/** The conformance suite over the MySQL store on MariaDB, killed processes included. */
import { conformanceSuite } from 'holdfast/conformance'
import { afterAll, describe, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { mysqlSubject } from './subjects/mysql.js'

const server = await startMysql({ durable: true })

afterAll(() => server.remove())
conformanceSuite(mysqlSubject(server), { describe, test, skip: test.skip })
