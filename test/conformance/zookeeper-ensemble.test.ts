/** The conformance suite over three ZooKeeper servers, and contention while leaders are killed. */
import { conformanceSuite } from '@holdfast/conformance'
import { afterAll, beforeAll } from 'vitest'
import { zookeeperSubject } from './subjects/zookeeper.js'
import { isFull } from '../support/plan.js'
import { suiteWhileLeadersDie } from './leaders.js'
import { runner } from './runner.js'

const { subject, ensemble, start, stop } = zookeeperSubject(3)

beforeAll(start)
afterAll(stop)

if (isFull()) conformanceSuite(subject, runner)

suiteWhileLeadersDie(
  'three ZooKeeper servers whose leader is killed every few seconds',
  subject,
  ensemble,
)
