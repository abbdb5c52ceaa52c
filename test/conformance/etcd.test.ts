/** The conformance suite over etcd, killed processes included. */
import { conformanceSuite } from '@holdfast/conformance'
import { afterAll, beforeAll } from 'vitest'
import { etcdSubject } from './subjects/etcd.js'
import { runner } from './runner.js'

const { subject, start, stop } = etcdSubject(1)

beforeAll(start)
afterAll(stop)
conformanceSuite(subject, runner)
