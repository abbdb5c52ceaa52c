/** The only holder of a lock stands in the row of the lock: there requests cost least. */
import { afterAll, describe, expect, test } from 'vitest'
import { claim, startKits } from './kits.js'

const NOW_MS = 1_700_000_000_000
const DAY_MS = 86_400_000
const TRY = { enqueue: false, tokens: 1 }

const { kits, stop } = await startKits()
afterAll(stop)

describe.each(kits)('$name', ({ store, ask, prefix, purge, setClock }) => {
  const inRow = (lock: string, id: string): string =>
    ask(
      `select count(*) from ${prefix}locks where name = '${lock}' and sole_id = '${id}' and not listed`,
    )

  test('a lock whose queue is empty again has its holder there', async () => {
    await setClock(NOW_MS)
    const [first, second, third] = ['first', 'second', 'third'].map((id) => claim('queued', id))
    if (!first || !second || !third) throw new Error('three claims')
    expect(await store.attempt(first, TRY)).toMatchObject({ outcome: 'granted' })
    expect(inRow('queued', 'first')).toBe('1')
    expect(await store.attempt(second, { ...TRY, enqueue: true })).toMatchObject({
      outcome: 'waiting',
    })
    expect(inRow('queued', 'first')).toBe('0')
    expect(await store.withdraw(first)).toBe('released')
    expect(await store.withdraw(second)).toBe('released')
    expect(await store.attempt(third, TRY)).toMatchObject({ outcome: 'granted' })
    expect(inRow('queued', 'third')).toBe('1')
  })

  test('a purge leaves it there', async () => {
    await setClock(NOW_MS)
    const held = claim('long', 'held', 3 * DAY_MS)
    expect(await store.attempt(held, TRY)).toMatchObject({ outcome: 'granted' })
    await setClock(NOW_MS + 2 * DAY_MS)
    purge(1)
    expect(inRow('long', 'held')).toBe('1')
    expect(await store.withdraw(held)).toBe('released')
  })
})
