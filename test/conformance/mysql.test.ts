/** The conformance suite over the MySQL store on MariaDB, killed processes included. */
import { suiteOver } from './subject.js'

await suiteOver('mysql')
