/** The conformance suite over three etcd members, and its contention while leaders are killed. */
import { conformanceSuite } from '@holdfast/conformance'
import { isFull } from '../support/plan.js'
import { suiteWhileLeadersDie } from './leaders.js'
import { runner } from './runner.js'
import { subjectOver } from './subject.js'

const { subject, running } = await subjectOver('etcd', { members: 3 })

if (isFull()) conformanceSuite(subject, runner)

suiteWhileLeadersDie(
  'three etcd members whose leader is killed every few seconds',
  subject,
  running.cluster,
)
