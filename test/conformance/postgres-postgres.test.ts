/** The conformance suite over PostgreSQL, through `postgres`, killed processes included. */
import { suiteOver } from './subject.js'

await suiteOver('postgres', { library: 'postgres' })
