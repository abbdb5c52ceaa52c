/** The conformance suite over a Redis server, through ioredis 6, killed processes included. */
import { suiteOver } from './subject.js'

await suiteOver('redis', { library: 'ioredis6' })
