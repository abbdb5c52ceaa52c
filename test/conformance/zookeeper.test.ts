/** The conformance suite over ZooKeeper, killed processes included. */
import { suiteOver } from './subject.js'

await suiteOver('zookeeper')
