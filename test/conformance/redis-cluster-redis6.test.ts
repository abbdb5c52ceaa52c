/** The conformance suite over a Redis Cluster, through redis6, killed processes included. */
import { suiteOver } from './subject.js'

await suiteOver('redis-cluster', { library: 'redis6' })
