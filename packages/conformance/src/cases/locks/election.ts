/** Elections: one candidate leads, and another takes over when it resigns or stops renewing. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import { codeOf, outcomeOf } from '../../expect.js'
import { planFor } from '../../faulty-store.js'
import { inspect } from '../../needs.js'

export const election = new Group('election')

election.test('the next candidate leads when the leader resigns', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const [first, second] = [one.election(context.name()), two.election(context.name())]
  const lease = await context.soon(first.campaign())
  assert.equal(first.isLeader, true)
  const campaign = second.campaign()
  await context.time.pass(30)
  assert.equal(second.isLeader, false)
  assert.equal(await context.soon(first.resign()), true)
  assert.equal(first.isLeader, false)
  const next = await context.time.within(campaign, 2000 + context.slackMs, 'the next leader')
  assert.equal(second.isLeader, true)
  assert.ok(!one.store.traits.fencing || next.token > lease.token)
})

election.test(
  'the next candidate leads when the leader stops renewing, and the former leader knows',
  async (context) => {
    // Where a lease ends only with its session, a leader with a live connection must withdraw.
    const withdraw = context.subject.traits.expiry === 'session' ? {} : { drop: 'request' as const }
    const { locks } = await context.faulty(planFor({ renew: { drop: 'request' }, withdraw }))
    const first = locks.election(context.name(), { ttlMs: context.shortMs })
    let lost = 0
    first.on('lost', () => (lost += 1))
    await context.soon(first.campaign())
    const second = (await context.locks()).election(context.name())
    const limitMs = context.shortMs + 1000 + context.slackMs
    await context.time.within(second.campaign(), limitMs, 'the next leader')
    assert.equal(second.isLeader, true)
    assert.equal(first.isLeader, false)
    assert.equal(lost, 1)
  },
)

election.test('a campaign ends when its candidate resigns', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  await context.soon(one.election(context.name()).campaign())
  const second = two.election(context.name())
  const outcome = outcomeOf(second.campaign())
  await context.time.pass(30)
  assert.equal(await context.soon(second.resign()), false)
  assert.ok('error' in (await context.soon(outcome)))
})

election.test(
  'a candidate that resigns at once does not lead, and leaves the lock free',
  async (context) => {
    const locks = await context.locks()
    const first = locks.election(context.name())
    const outcome = outcomeOf(first.campaign())
    assert.equal(await context.soon(first.resign()), false)
    assert.equal(codeOf(await context.soon(outcome)), 'LOCK_USAGE')
    assert.equal(first.isLeader, false)
    const second = (await context.locks()).election(context.name())
    await context.soon(second.campaign())
    assert.equal(first.isLeader, false)
  },
)

election.test('a second caller of campaign keeps its own waitMs', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const leader = one.election(context.name())
  await context.soon(leader.campaign())
  const second = two.election(context.name())
  const unlimited = second.campaign()
  const outcome = outcomeOf(second.campaign({ waitMs: 50 }))
  await context.time.pass(50)
  assert.equal(codeOf(await context.soon(outcome)), 'LOCK_TIMEOUT')
  await context.soon(leader.resign())
  await context.time.within(unlimited, 2000 + context.slackMs, 'the next leader')
  assert.equal(second.isLeader, true)
})

election.test(
  'each client can read who leads',
  async (context) => {
    const [one, two] = [await context.locks({ label: 'the first' }), await context.locks()]
    const lease = await context.soon(one.election(context.name()).campaign())
    const leader = await context.soon(two.election(context.name()).leader())
    assert.equal(leader?.claimId, lease.claimId)
    assert.equal(leader?.owner.label, 'the first')
  },
  { needs: [inspect] },
)
