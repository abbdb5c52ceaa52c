/** `awaitRelease: false`: attempts behind a release that has no answer yet. */
import assert from 'node:assert/strict'
import type { Lockable } from 'holdfast'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { semaphore } from '../../needs.js'

export const openReleases = new Group('open releases')

/** As many as use several connections of a store that has them. */
const LOCKS = 8
const ROUNDS = 5
const LIMIT_MS = 20_000

/** Lets runs and single attempts for several locks alternate. Each attempt finds its lock free. */
async function alternate(
  context: Context,
  lockOf: (index: number) => Lockable,
  again = lockOf,
): Promise<void> {
  const all = Array.from({ length: LOCKS }, async (_, index) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      await lockOf(index).run(() => undefined)
      const lease = await again(index).tryAcquire()
      assert.ok(
        lease,
        `the attempt of round ${round} overtook the release of ${lockOf(index).name}`,
      )
      assert.equal(await lease.release(), 'released')
    }
  })
  await context.time.within(Promise.all(all), LIMIT_MS + context.slackMs, 'the rounds')
}

openReleases.test(
  'an attempt after a run that did not wait for its release finds the lock free',
  async (context) => {
    const locks = await context.locks({ awaitRelease: false })
    const name = (index: number): string => context.name(`lock-${index}`)
    await alternate(context, (index) => locks.mutex(name(index)))
  },
)

openReleases.test('an attempt for a fixed lease finds the lock free too', async (context) => {
  const locks = await context.locks({ awaitRelease: false })
  const name = (index: number): string => context.name(`lock-${index}`)
  const other = { renew: false } as const
  await alternate(
    context,
    (index) => locks.mutex(name(index)),
    (index) => locks.mutex(name(index), other),
  )
})

openReleases.test(
  'an attempt for all permits finds them free after runs that did not wait',
  async (context) => {
    const locks = await context.locks({ awaitRelease: false })
    const gate = locks.semaphore(context.name(), { permits: LOCKS })
    for (let round = 0; round < ROUNDS; round += 1) {
      const runs = Array.from({ length: LOCKS }, () => gate.run(() => undefined))
      await context.time.within(Promise.all(runs), LIMIT_MS + context.slackMs, 'the runs')
      const lease = await context.soon(gate.tryAcquire({ weight: LOCKS }))
      assert.ok(lease, `the attempt of round ${round} overtook a release`)
      assert.equal(await context.soon(lease.release()), 'released')
    }
  },
  { needs: [semaphore] },
)

openReleases.test('close waits for open releases', async (context) => {
  const [one, two] = [await context.locks({ awaitRelease: false }), await context.locks()]
  await context.soon(one.mutex(context.name()).run(() => undefined))
  await context.soon(one.close())
  assert.ok(await context.soon(two.mutex(context.name()).tryAcquire()))
})
