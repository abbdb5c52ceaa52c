/** The conformance suite over three etcd members, and once more while their leader is killed again and again. */
import { conformanceSuite } from 'holdfast/conformance'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { etcdSubject } from './subjects/etcd.js'
import { suiteWhileLeadersDie } from './leaders.js'

const { subject, cluster, start, stop } = etcdSubject(3)

beforeAll(start)
afterAll(stop)
conformanceSuite(subject, { describe, test, skip: test.skip })

suiteWhileLeadersDie('three etcd members whose leader is killed every few seconds', subject, cluster)
