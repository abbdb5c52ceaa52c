import { DeadlockError, LockTimeoutError } from 'holdfast'
import { expect, test } from 'vitest'

const program = { clientId: 'c', host: 'h', pid: 7, label: `a\n"${'x'.repeat(200)}` }
const shown = `pid 7 on h ("a\\n\\"${'x'.repeat(97)}")`

test('a deadlock names a program by its label, quoted and cut', () => {
  const step = { lock: 'a', claimId: 'id', ...program, waitsFor: 'b' }
  expect(new DeadlockError([step], { lock: 'b' }).message).toContain(
    `${shown} holds "a" and waits for "b"`,
  )
})

test('a long wait names its holder in the same way', () => {
  const holder = { claimId: 'id', owner: program, token: 1n, heldMs: 1, remainingMs: 1 }
  const error = new LockTimeoutError(1000, { lock: 'a', holders: [holder] })
  expect(error.message).toContain(`, held by ${shown}. `)
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({
    waitMs: 1000,
    holders: [{ token: '1' }],
  })
})
