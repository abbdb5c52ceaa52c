/** An answer that a listener hears without a promise, and that others await. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { onLockEvent } from 'holdfast'
import { expect, onTestFinished, test } from 'vitest'
import { listenToAnswer } from '../../dist/lease/runtime/listen-to-answer.js'
import { PendingAnswer, type AnswerListener } from '../../dist/store/pending-answer.js'

class TestAnswer extends PendingAnswer<number> {
  succeed(value: number): void {
    this.answer(value)
  }

  break(reason: unknown): void {
    this.fail(reason)
  }
}

function recorder(): AnswerListener<number> & { readonly heard: unknown[] } {
  const heard: unknown[] = []
  return {
    heard,
    answered: (value) => void heard.push(value),
    failed: (reason) => void heard.push({ reason }),
  }
}

test('a listener hears a success inside of the call that brings it', () => {
  const answer = new TestAnswer()
  const listener = recorder()
  answer.listen(listener)
  answer.succeed(1)
  expect(listener.heard).toEqual([1])
})

test('a listener hears a failure after the call that brings it', async () => {
  const answer = new TestAnswer()
  const listener = recorder()
  answer.listen(listener)
  answer.break('down')
  expect(listener.heard).toEqual([])
  await Promise.resolve()
  expect(listener.heard).toEqual([{ reason: 'down' }])
})

test.each([
  ['a success', (answer: TestAnswer) => answer.succeed(1), 1],
  ['a failure', (answer: TestAnswer) => answer.break('down'), { reason: 'down' }],
] as const)('%s that came early is heard after `listen`', async (_what, end, expected) => {
  const answer = new TestAnswer()
  end(answer)
  const listener = recorder()
  answer.listen(listener)
  expect(listener.heard).toEqual([])
  await Promise.resolve()
  expect(listener.heard).toEqual([expected])
})

test('several callers await one answer', async () => {
  const answer = new TestAnswer()
  const all = Promise.all([answer, answer.then((value) => value + 1)])
  answer.succeed(1)
  expect(await all).toEqual([1, 2])
  const broken = new TestAnswer()
  const failure = broken.catch((reason: unknown) => reason)
  broken.break('down')
  expect(await failure).toBe('down')
  await expect(broken.finally(() => undefined)).rejects.toBe('down')
})

test.each([
  ['after', (answer: TestAnswer, one: AnswerListener<number>): void => answer.listen(one)],
  ['before', () => undefined],
] as const)('an answer that is awaited %s a listener is heard by both', async (order, listen) => {
  const answer = new TestAnswer()
  const [one, other] = [recorder(), recorder()]
  listen(answer, one)
  const awaited = answer.then((value) => value)
  answer.listen(other)
  answer.succeed(1)
  expect(await awaited).toBe(1)
  expect(other.heard).toEqual([1])
  expect(one.heard).toEqual(order === 'after' ? [1] : [])
})

test('an answer that a listener has heard can be awaited', async () => {
  const answer = new TestAnswer()
  answer.listen(recorder())
  answer.succeed(1)
  expect(await answer).toBe(1)
  const late = recorder()
  answer.listen(late)
  await Promise.resolve()
  expect(late.heard).toEqual([1])
})

test('a listener that throws leaves the call that brings its answer alone', async () => {
  const unhandled = new Promise((resolve) => {
    const listeners = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection')
    onTestFinished(() => {
      for (const listener of listeners) process.on('unhandledRejection', listener)
    })
    process.once('unhandledRejection', resolve)
  })
  const answer = new TestAnswer()
  const error = new Error('a defect')
  answer.listen({
    answered() {
      throw error
    },
    failed: () => undefined,
  })
  answer.succeed(1)
  expect(await unhandled).toBe(error)
})

test('with a subscriber of events an answer is heard in the context of its request', async () => {
  onTestFinished(onLockEvent('granted', () => undefined))
  const contexts = new AsyncLocalStorage<string>()
  const answers = [new TestAnswer(), new TestAnswer()]
  const heard: unknown[] = []
  const listener: AnswerListener<number> = {
    answered: () => void heard.push(contexts.getStore()),
    failed: () => undefined,
  }
  for (const [index, answer] of answers.entries())
    contexts.run(`request ${index}`, () => listenToAnswer(answer, listener))
  for (const answer of answers) answer.succeed(1)
  await new Promise((resolve) => void setImmediate(resolve))
  expect(heard).toEqual(['request 0', 'request 1'])
})
