/** The conformance suite over ZooKeeper, killed processes included. */
import { conformanceSuite } from 'holdfast/conformance'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { zookeeperSubject } from './subjects/zookeeper.js'

const { subject, start, stop } = zookeeperSubject(1)

beforeAll(start)
afterAll(stop)
conformanceSuite(subject, { describe, test, skip: test.skip })
