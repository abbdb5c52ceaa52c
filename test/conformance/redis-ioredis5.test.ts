/** The conformance suite over a Redis server, through ioredis 5, killed processes included. */
import { suiteOver } from './subject.js'

await suiteOver('redis', { library: 'ioredis5' })
