/** The conformance suite over etcd, killed processes included. */
import { suiteOver } from './subject.js'

await suiteOver('etcd')
