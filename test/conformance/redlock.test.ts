/** The conformance suite over five independent Redis servers, killed processes included. */
import { suiteOver } from './subject.js'

await suiteOver('redlock')
