/** The conformance suite over the MySQL store on MariaDB, killed processes included. */
import { conformanceSuite } from '@holdfast/conformance'
import { afterAll } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { mysqlSubject } from './subjects/mysql.js'
import { runner } from './runner.js'

const server = await startMysql({ durable: true, flags: ['--max-connections=300'] })

afterAll(() => server.remove())
conformanceSuite(mysqlSubject(server), runner)
