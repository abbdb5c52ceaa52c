/** The conformance suite over a Redis server, through node-redis 6, killed processes included. */
import { suiteOver } from './subject.js'

await suiteOver('redis', { library: 'redis6' })
