/** The conformance suite over PostgreSQL, through `pg`, killed processes included. */
import { suiteOver } from './subject.js'

await suiteOver('postgres', { library: 'pg' })
