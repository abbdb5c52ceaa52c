/** The conformance suite over three ZooKeeper servers, and contention while leaders are killed. */
import { conformanceSuite } from '@holdfast/conformance'
import { isFull } from '../support/plan.js'
import { suiteWhileLeadersDie } from './leaders.js'
import { runner } from './runner.js'
import { subjectOver } from './subject.js'

const { subject, running } = await subjectOver('zookeeper', { members: 3 })

if (isFull()) conformanceSuite(subject, runner)

suiteWhileLeadersDie(
  'three ZooKeeper servers whose leader is killed every few seconds',
  subject,
  running.cluster,
)
