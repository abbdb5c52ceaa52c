/** The conformance suite over etcd, killed processes included. */
import { conformanceSuite } from 'holdfast/conformance'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { etcdSubject } from './subjects/etcd.js'

const { subject, start, stop } = etcdSubject(1)

beforeAll(start)
afterAll(stop)
conformanceSuite(subject, { describe, test, skip: test.skip })
