/** The conformance suite over three etcd members, and its contention while leaders are killed. */
import { conformanceSuite } from '@holdfast/conformance'
import { afterAll, beforeAll } from 'vitest'
import { etcdSubject } from './subjects/etcd.js'
import { isFull } from '../support/plan.js'
import { suiteWhileLeadersDie } from './leaders.js'
import { runner } from './runner.js'

const { subject, cluster, start, stop } = etcdSubject(3)

beforeAll(start)
afterAll(stop)
if (isFull()) conformanceSuite(subject, runner)

suiteWhileLeadersDie(
  'three etcd members whose leader is killed every few seconds',
  subject,
  cluster,
)
