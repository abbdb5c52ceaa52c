/** Assertions that the cases share. */
import assert from 'node:assert/strict'
import { isLockError, type LockError, type LockErrorCode } from 'holdfast'
import type { AttemptResult, Granted, MaybePromise } from 'holdfast/store'

/** Asserts the outcome of an attempt, and narrows its type. */
export function expectOutcome<O extends AttemptResult['outcome']>(
  result: AttemptResult | undefined,
  outcome: O,
): Extract<AttemptResult, { outcome: O }> {
  assert.equal(
    result?.outcome,
    outcome,
    `the attempt was answered "${result?.outcome}", not "${outcome}"`,
  )
  return result as Extract<AttemptResult, { outcome: O }>
}

/** Returns the token of a grant, and fails without one. */
export function tokenOf(granted: Granted): bigint {
  assert.equal(
    typeof granted.token,
    'bigint',
    'a store with the trait "fencing" gives every grant a token',
  )
  return granted.token
}

/** Asserts that a call throws or rejects with an error of Holdfast. */
export async function expectError(
  code: LockErrorCode,
  call: () => MaybePromise<unknown>,
): Promise<LockError> {
  const outcome = await outcomeOf(call)
  if ('value' in outcome)
    assert.fail(`expected an error with the code ${code}, but the call succeeded`)
  const { error } = outcome
  if (!isLockError(error)) throw error
  assert.equal(error.code, code, `the code of the error: ${error.message}`)
  return error
}

export type Outcome<T> = { readonly value: T } | { readonly error: unknown }

/** Returns the outcome of a call as a value, so that no rejection is unhandled meanwhile. */
export async function outcomeOf<T>(
  call: PromiseLike<T> | (() => MaybePromise<T>),
): Promise<Outcome<T>> {
  try {
    return { value: await (typeof call === 'function' ? call() : call) }
  } catch (error) {
    return { error }
  }
}

/** Returns the code of the error of an outcome. */
export function codeOf(outcome: Outcome<unknown>): string {
  if ('value' in outcome) return 'no error'
  return isLockError(outcome.error) ? outcome.error.code : String(outcome.error)
}
