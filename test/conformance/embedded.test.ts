/** The conformance suite over the embedded store, killed processes included. */
import { suiteOver } from './subject.js'

await suiteOver('embedded')
