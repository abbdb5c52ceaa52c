/** Elections: one candidate leads, and another takes over when it resigns or stops renewing. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import { codeOf, outcomeOf } from '../../expect.js'
import { planFor } from 'holdfast/testing'

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
  assert.ok(next.token > lease.token)
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

election.test('each client can read who leads', async (context) => {
  const [one, two] = [await context.locks({ label: 'the first' }), await context.locks()]
  const lease = await context.soon(one.election(context.name()).campaign())
  const leader = await context.soon(two.election(context.name()).leader())
  assert.equal(leader?.claimId, lease.claimId)
  assert.equal(leader?.owner.label, 'the first')
  assert.equal(leader?.owner.election, true)
  await context.soon(one.mutex(context.name('mutex')).acquire())
  const mutex = await context.soon(two.mutex(context.name('mutex')).inspect())
  assert.equal(mutex?.holders[0]?.owner.election, undefined)
})

election.test('lead runs the work of one candidate after the other', async (context) => {
  const { time } = context
  const [one, two] = [await context.locks(), await context.locks()]
  const order: string[] = []
  const work = (name: string) => async (): Promise<string> => {
    order.push(`${name} leads`)
    await time.pass(30)
    order.push(`${name} ends`)
    return name
  }
  const first = one.election(context.name()).lead(work('one'))
  await time.eventually('the first leader', context.slackMs, () => order.length > 0)
  const second = two.election(context.name()).lead(work('two'))
  assert.equal(await context.soon(first), 'one')
  assert.equal(await time.within(second, 2000 + context.slackMs, 'the next leader'), 'two')
  assert.deepEqual(order, ['one leads', 'one ends', 'two leads', 'two ends'])
})

election.test('lead leads again after a loss, with a larger token', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const tokens: bigint[] = []
  const candidate = one.election(context.name(), { ttlMs: context.shortMs })
  const limitMs = context.shortMs + context.slackMs
  const leading = candidate.lead(async ({ token, signal }) => {
    tokens.push(token)
    if (tokens.length === 2) return 'done'
    await two.steal(context.name(), { reason: 'a test' })
    await context.time.eventually('the loss', limitMs, () => signal.aborted)
    return 'lost meanwhile'
  })
  assert.equal(await context.time.within(leading, 2 * limitMs, 'the second leadership'), 'done')
  const [first = 0n, second = 0n] = tokens
  assert.ok(second > first)
})

election.test(
  'a signal ends lead once its work has stopped, and no loss is reported',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks()]
    const candidate = one.election(context.name())
    const events: string[] = []
    for (const event of ['elected', 'lost', 'resigned'] as const)
      candidate.on(event, () => events.push(event))
    const stop = new AbortController()
    let hasStopped = false
    const leading = outcomeOf(
      candidate.lead(
        async (lease) => {
          stop.abort(new RangeError('shutdown'))
          assert.equal(lease.signal.aborted, true)
          await context.time.pass(30)
          hasStopped = candidate.isLeader
          return 'too late'
        },
        { signal: stop.signal },
      ),
    )
    const outcome = await context.soon(leading)
    assert.ok('error' in outcome && outcome.error instanceof RangeError)
    assert.equal(hasStopped, true)
    assert.deepEqual(events, ['elected', 'resigned'])
    await context.soon(two.election(context.name()).campaign())
  },
)

election.test('work that fails makes lead resign and reject', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const candidate = one.election(context.name())
  const leading = candidate.lead(() => Promise.reject(new RangeError('the work failed')))
  await assert.rejects(context.soon(leading), RangeError)
  assert.equal(candidate.isLeader, false)
  await context.soon(two.election(context.name()).campaign())
})

election.test('an observer sees each leader, and that there is none', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const leaders = (await context.locks()).election(context.name()).observe()
  const next = async () => {
    const step = leaders.next()
    return (await context.time.within(step, 2000 + context.slackMs, 'a change')).value
  }
  assert.deepEqual(await next(), { leader: undefined })
  const first = one.election(context.name())
  const { token } = await context.soon(first.campaign())
  const seen = await next()
  assert.equal(seen?.leader?.owner.pid, process.pid)
  assert.equal(seen?.token, token)
  await first.resign()
  assert.deepEqual(await next(), { leader: undefined })
  const later = await context.soon(two.election(context.name()).campaign())
  assert.equal((await next())?.token, later.token)
  await leaders.return?.()
})
