/** Names: two different names are two locks, with any characters in them. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import { expectOutcome } from '../../expect.js'
import { MAX_NAME_BYTES } from 'holdfast/store'

export const names = new Group('names')

/** Names with a meaning in SQL, paths, globs, patterns or JavaScript, and names that look alike. */
const HOSTILE = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  ' ',
  '  ',
  'a',
  'A',
  'a ',
  ' a',
  'a\u00a0',
  'ä',
  'a\u0308',
  'Ä',
  'ſ',
  's',
  'ß',
  'ss',
  'İ',
  'i',
  '🔒',
  '👩‍👩‍👧',
  "'",
  "''; drop table locks; --",
  '"',
  '`',
  '\\',
  '\\\\',
  '\\0',
  '/',
  '//',
  '..',
  '../a',
  '%',
  '%25',
  '_',
  '*',
  '?',
  '[a]',
  '{a}',
  '{a}b',
  '}{',
  '$1',
  '${a}',
  '#',
  ':',
  '::',
  'null',
  'undefined',
  '0',
  '00',
  '-0',
  '1e3',
  '1000',
  'true',
  '\ufeffa',
  'a\u200b',
  '\u202eabc',
  '中文',
] as const

names.test('hostile names are locks of their own', async (context) => {
  const claims = HOSTILE.map((name) => context.claim({ lock: name }))
  await Promise.all(claims.map((claim) => context.take(claim)))
  for (const claim of claims) {
    const other = context.claim({ lock: claim.lock })
    const { outcome } = await context.store.attempt(other, { enqueue: false, tokens: 1 })
    assert.equal(
      outcome,
      'busy',
      `"${claim.lock}" is held, and a second claim was answered "${outcome}"`,
    )
  }
  for (const claim of claims) assert.equal(await context.withdraw(claim), 'released', claim.lock)
})

names.test('hostile names behind a common prefix are locks of their own', async (context) => {
  const claims = HOSTILE.map((name) => context.claim({ lock: context.name(name) }))
  await Promise.all(claims.map((claim) => context.take(claim)))
  for (const claim of claims) assert.equal(await context.withdraw(claim), 'released', claim.lock)
})

names.test(
  'names of the maximum length that differ in the last byte are two locks',
  async (context) => {
    const stem = context.name('long-').padEnd(MAX_NAME_BYTES - 1, 'x')
    const [one, two] = [context.claim({ lock: `${stem}1` }), context.claim({ lock: `${stem}2` })]
    await context.take(one)
    await context.take(two)
    expectOutcome(await context.attempt(context.claim({ lock: one.lock, id: one.id })), 'granted')
    assert.equal(await context.withdraw(one), 'released')
  },
)

names.test('long names of wide characters are not cut', async (context) => {
  const stem = context.name('')
  const wide = '🔒'.repeat(Math.floor((MAX_NAME_BYTES - Buffer.byteLength(stem)) / 4) - 1)
  await context.take(context.claim({ lock: `${stem}${wide}🔑` }))
  await context.take(context.claim({ lock: `${stem}${wide}🔓` }))
})

names.test('inspect returns each name as it was given', async (context) => {
  for (const part of HOSTILE) {
    const lock = context.name(part)
    await context.take(context.claim({ lock }))
    assert.equal((await context.inspect(lock))?.lock, lock)
  }
})

names.test('list with a prefix returns exactly the names that begin with it', async (context) => {
  const locks = HOSTILE.map((part) => context.name(`${part}x`))
  await Promise.all(locks.map((lock) => context.take(context.claim({ lock }))))
  for (const part of HOSTILE) {
    const prefix = context.name(part)
    const expected = locks.filter((lock) => lock.startsWith(prefix))
    assert.deepEqual(await context.list(prefix), expected.sort(), `prefix "${part}"`)
  }
})
