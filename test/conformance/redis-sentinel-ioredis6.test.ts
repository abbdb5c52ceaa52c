/**
 * The conformance suite over a Redis primary behind Sentinels, through ioredis6, killed processes
 * included.
 */
import { suiteOver } from './subject.js'

await suiteOver('redis-sentinel', { library: 'ioredis6' })
