import { createLocks, type Lease } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { expect, it } from 'vitest'
import { endHolders } from '../../../dist/cli/run/replace.js'
import { Box } from '../support/holdfast.js'

it('ends the holder, and overtakes no waiter', async () => {
  const box = new Box()
  const script = `trap 'echo asked; exit 5' TERM; echo held; while :; do sleep 0.02; done`
  // It has what is left of the lease to answer the signal.
  const holder = await box.holder('job', ['--ttl', '10s'], script)
  const waiter = box.holdfast(['run', 'job', '--', 'sh', '-c', 'echo "$HOLDFAST_TOKEN"'])
  await box.waiters('job', 1)
  const next = box.holdfast(['run', 'job', '--replace', '--', 'sh', '-c', 'echo $HOLDFAST_TOKEN'])
  expect(await next.code()).toBe(0)
  expect(await holder.code()).toBe(74)
  expect(holder.stdout).toContain('asked')
  expect(holder.stderr).toMatch(/replaced by pid \d+ on /)
  expect(await waiter.code()).toBe(0)
  expect(BigInt(next.stdout)).toBeGreaterThan(BigInt(waiter.stdout))
})

it('runs at once where no run holds the lock', async () => {
  const box = new Box()
  expect(await box.holdfast(['run', 'job', '--replace', '--wait', '5s', '--', 'true']).code()).toBe(
    0,
  )
})

it('says what became of the holder when the wait is shorter than its end', async () => {
  const box = new Box()
  const script = `trap 'sleep 1; exit 5' TERM; echo held; while :; do sleep 0.02; done`
  const holder = await box.holder('job', ['--ttl', '3s'], script)
  const next = box.holdfast(['run', 'job', '--replace', '--wait', '100ms', '--', 'echo', 'ran'])
  expect(await next.code()).toBe(75)
  expect(next.stdout).toBe('')
  expect(next.stderr).toMatch(
    /--replace has ended the holder of the lock, which did not let go within 100ms\. That run still ends/,
  )
  expect(await holder.code()).toBe(74)
})

it('leaves the holder alone where the lock is in use with other permits', async () => {
  const box = new Box()
  const holder = await box.holder('job', ['--permits', '3'])
  for (const sharing of [[], ['--shared'], ['--permits', '2']]) {
    const next = box.holdfast(['run', 'job', '--replace', ...sharing, '--', 'echo', 'ran'])
    expect(await next.code()).toBe(78)
    expect(next.stderr).toContain('is in use with --permits 3')
  }
  expect((await box.inspect('job'))?.holders).toMatchObject([{ stolen: false }])
  holder.types('\n')
  expect(await holder.code()).toBe(0)
})

it('leaves a holder alone that came after the look', async () => {
  const locks = createLocks(memoryStore())
  const mutex = locks.mutex('job')
  const first = await mutex.acquire()
  let second: Lease | undefined
  const { store } = locks
  const inspect = store.inspect.bind(store)
  store.inspect = async (...args) => {
    const found = await inspect(...args)
    if (second === undefined) {
      await first.release()
      second = await mutex.acquire()
    }
    return found
  }
  await endHolders(locks, { name: 'job', sharing: { kind: 'exclusive' } })
  expect((await mutex.inspect()).holders).toMatchObject([{ stolen: false }])
  await second?.renew()
  expect(second?.held).toBe(true)
  await locks.close({ graceMs: 0 })
})
