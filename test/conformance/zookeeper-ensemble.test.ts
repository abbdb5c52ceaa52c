/** The conformance suite over three ZooKeeper servers, and once more while their leader is killed again and again. */
import { conformanceCases, conformanceSuite } from 'holdfast/conformance'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { zookeeperSubject } from './subjects/zookeeper.js'
import { whileLeadersDie } from './leaders.js'
import { serverKillRounds } from '../support/plan.js'

const { subject, ensemble, start, stop } = zookeeperSubject(3)

beforeAll(start)
afterAll(stop)

conformanceSuite(subject, { describe, test, skip: test.skip })

/** What has to hold although the service stumbles all the time. */
const STEADY = [
  'contending processes exclude each other',
  'contending processes that are killed at random never hold together, and no token is given twice',
]

const patient = {
  ...subject,
  shortTtlMs: 2000,
  // The dead may have to be forgotten under the next leader, which gives them their whole time again: one leader's time (seven seconds
  // and the start of a server), an election, and the session, before the living get through.
  slackMs: 30_000,
  killRounds: Math.ceil(serverKillRounds() / 3),
}

/** A round is a second at most, and the start of a process. */
const LIMIT_MS = 120_000 + patient.killRounds * 4000

describe('three ZooKeeper servers whose leader is killed every few seconds', () => {
  for (const { title, run } of conformanceCases(patient)) {
    if (!STEADY.includes(title)) continue
    test(title, () => whileLeadersDie(ensemble(), run), LIMIT_MS)
  }
})
