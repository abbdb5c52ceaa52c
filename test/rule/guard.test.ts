/**
 * A lock that was released while a transaction still covers it is granted to no client before that
 * transaction has ended.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { claim, startKits, tokenOf } from './kits.js'

const { kits, stop } = await startKits()
afterAll(stop)

const NOW_MS = 1_700_000_000_000

/** Returns the rows of an answer of either library. */
function rowsOf(answer: unknown): readonly unknown[] {
  return Array.isArray(answer)
    ? (answer[0] as readonly unknown[])
    : (answer as { readonly rows: readonly unknown[] }).rows
}

describe.each(kits)('$name', ({ store, prefix, sharing, setClock, connect }) => {
  /** Gives what came of it. What is asked for together leaves together. */
  const attempt = async (locks: readonly string[], id: string): Promise<string[]> => {
    const options = { enqueue: true, tokens: 1 }
    const results = await Promise.all(
      locks.map(async (lock) => store.attempt(claim(lock, id), options)),
    )
    return results.map(({ outcome }) => outcome)
  }

  test.each([
    { asked: 'asked for alone', lock: 'alone', besides: [] },
    { asked: 'asked for together with another', lock: 'covered', besides: ['other'] },
  ])('$asked', async ({ lock, besides }) => {
    const locks = [lock, ...besides]
    await setClock(NOW_MS)
    await attempt([lock], 'a')
    expect(await store.transactionGuard?.prepare({ lock, id: 'a' })).toBe(true)
    const transaction = await connect()
    await transaction.run('begin')
    await transaction.run(`select name from ${prefix}guards where name = '${lock}' ${sharing}`)
    expect(await store.withdraw(claim(lock, 'a'))).toBe('released')

    const others = besides.map(() => 'granted')
    expect(await attempt(locks, 'b')).toEqual(['waiting', ...others])
    expect(await attempt([lock], 'c')).toEqual(['waiting'])
    await transaction.run('commit')
    transaction.end()
    // It is granted in the order of the queue, also to one who asks later.
    expect(await attempt([lock], 'c')).toEqual(['waiting'])
    expect(await attempt(locks, 'b')).toEqual(['granted', ...others])
    for (const held of locks) expect(await store.withdraw(claim(held, 'b'))).toBe('released')
    expect(await attempt([lock], 'c')).toEqual(['granted'])
    expect(await store.withdraw(claim(lock, 'c'))).toBe('released')
    // Nothing of that keeps the lock from later clients.
    expect(await attempt(locks, 'd')).toEqual(locks.map(() => 'granted'))
  })

  test('asked for together with the release', async () => {
    const lock = 'retaken'
    await setClock(NOW_MS)
    await attempt([lock], 'a')
    expect(await store.transactionGuard?.prepare({ lock, id: 'a' })).toBe(true)
    const transaction = await connect()
    await transaction.run('begin')
    await transaction.run(`select name from ${prefix}guards where name = '${lock}' ${sharing}`)
    const released = Promise.resolve(store.withdraw(claim(lock, 'a')))
    expect([await attempt([lock], 'b'), await released]).toEqual([['waiting'], 'released'])
    await transaction.run('commit')
    transaction.end()
    expect(await attempt([lock], 'b')).toEqual(['granted'])
    expect(await store.withdraw(claim(lock, 'b'))).toBe('released')
  })

  test('adopter passes the guard, unless the transaction of the exporter has it', async () => {
    const lock = 'passed on'
    await setClock(NOW_MS)
    const from = claim(lock, 'exporter')
    const token = tokenOf(await store.attempt(from, { enqueue: true, tokens: 3 })) + 2n
    const covered = { lock, id: from.id, token: String(token) }
    const [detached, to] = [claim(lock, 'detached'), claim(lock, 'adopter')]
    expect(await store.transactionGuard?.prepare(covered)).toBe(true)
    const transaction = await connect()
    const share = `select name from ${prefix}guards where name = '${lock}' and token <= ${token} ${sharing}`
    await transaction.run('begin')
    await transaction.run(share)
    expect(await store.adopt?.({ from, token, to: detached, detached: true })).toMatchObject({
      outcome: 'granted',
      token,
    })
    const adoption = { from: detached, token, to, detached: false }
    await expect(store.adopt?.(adoption)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      lock,
      message: expect.stringContaining('has not ended') as string,
    })
    expect(await store.renew([detached])).toEqual([{ outcome: 'renewed' }])
    await transaction.run('commit')
    const adopted = await store.adopt?.(adoption)
    expect(adopted).toMatchObject({ outcome: 'granted', alreadyGranted: false })
    expect(await store.adopt?.(adoption)).toEqual({ ...adopted, alreadyGranted: true })
    // A transaction of the exporter that begins only now has no guard, and one of the adopter has.
    await transaction.run('begin')
    expect(rowsOf(await transaction.run(share))).toEqual([])
    const own = share.replace(String(token), String((adopted as { token: bigint }).token))
    expect(rowsOf(await transaction.run(own))).toHaveLength(1)
    await transaction.run('commit')
    transaction.end()
    expect(await store.withdraw(to)).toBe('released')
  })

  test('steal with now reports that a transaction still keeps the lock', async () => {
    const lock = 'stolen from'
    await setClock(NOW_MS)
    await attempt([lock], 'a')
    expect(await store.transactionGuard?.prepare({ lock, id: 'a' })).toBe(true)
    const transaction = await connect()
    await transaction.run('begin')
    await transaction.run(`select name from ${prefix}guards where name = '${lock}' ${sharing}`)
    const guarded = { freeInMs: undefined, guarded: true }
    expect(await store.steal(lock, { now: true })).toEqual({ holders: 1, ...guarded })
    expect(await attempt([lock], 'b')).toEqual(['waiting'])
    expect(await store.steal(lock, { now: true })).toEqual({ holders: 0, ...guarded })
    await transaction.run('commit')
    transaction.end()
    expect(await attempt([lock], 'b')).toEqual(['granted'])
    expect(await store.steal(lock, { now: true })).toEqual({ holders: 1, freeInMs: 0 })
  })
})
