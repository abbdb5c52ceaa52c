/** The conformance suite over ZooKeeper, killed processes included. */
import { conformanceSuite } from '@holdfast/conformance'
import { afterAll, beforeAll } from 'vitest'
import { zookeeperSubject } from './subjects/zookeeper.js'
import { runner } from './runner.js'

const { subject, start, stop } = zookeeperSubject(1)

beforeAll(start)
afterAll(stop)
conformanceSuite(subject, runner)
