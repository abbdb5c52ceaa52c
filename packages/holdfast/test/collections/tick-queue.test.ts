/** What is added in one tick goes together. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { TickQueue } from '../../dist/collections/tick-queue.js'

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

function makeQueue(atTickEnd?: (work: () => void) => void): {
  queue: TickQueue<number>
  lists: (readonly number[])[]
} {
  const lists: (readonly number[])[] = []
  return { queue: new TickQueue((items) => void lists.push(items), atTickEnd), lists }
}

test('items of one tick are handed over together, those that settled promises add included', async () => {
  const { queue, lists } = makeQueue()
  queue.add(1)
  void Promise.resolve().then(() => queue.add(2))
  queue.add(3)
  await nextTurn()
  queue.add(4)
  await nextTurn()
  expect(lists).toEqual([[1, 3, 2], [4]])
})

test('a flush hands over at once, and the end of the tick hands over nothing again', async () => {
  const { queue, lists } = makeQueue()
  queue.add(1)
  queue.flush()
  expect(lists).toEqual([[1]])
  await nextTurn()
  queue.flush()
  expect(lists).toEqual([[1]])
})

test('an item that is added while a list is handed over goes with the next one', async () => {
  const lists: (readonly number[])[] = []
  const queue: TickQueue<number> = new TickQueue((items) => {
    lists.push(items)
    if (items.includes(1)) queue.add(2)
  })
  queue.add(1)
  await nextTurn()
  expect(lists).toEqual([[1], [2]])
})

test('the caller says when a tick ends', () => {
  const ends: (() => void)[] = []
  const { queue, lists } = makeQueue((work) => void ends.push(work))
  queue.add(1)
  queue.add(2)
  expect(ends).toHaveLength(1)
  ends[0]?.()
  expect(lists).toEqual([[1, 2]])
})

test('a full list is handed over at once, and later ones of the tick are larger', () => {
  const lists: (readonly number[])[] = []
  const ends: (() => void)[] = []
  const queue = new TickQueue<number>(
    (items) => void lists.push(items),
    (work) => void ends.push(work),
    { first: 2, later: 3 },
  )
  const endTick = (): void => {
    for (const end of ends.splice(0)) end()
  }
  for (const item of [1, 2, 3, 4, 5, 6]) queue.add(item)
  expect(lists).toEqual([
    [1, 2],
    [3, 4, 5],
  ])
  endTick()
  for (const item of [7, 8, 9]) queue.add(item)
  expect(lists.slice(2)).toEqual([[6], [7, 8]])
  endTick()
  expect(lists.slice(4)).toEqual([[9]])
})

test('each list leaves in the async context of its first item, or of the one that fills it', async () => {
  const callers = new AsyncLocalStorage<string>()
  const seen: [string | undefined, readonly number[]][] = []
  const queue = new TickQueue<number>(
    (items) => void seen.push([callers.getStore(), items]),
    undefined,
    { first: 2, later: 2 },
  )
  for (const item of [1, 2, 3]) callers.run(`caller ${item}`, () => queue.add(item))
  await nextTurn()
  callers.run('caller 4', () => queue.add(4))
  queue.flush()
  callers.run('caller 5', () => queue.add(5))
  await nextTurn()
  expect(seen).toEqual([
    ['caller 2', [1, 2]],
    ['caller 3', [3]],
    [undefined, [4]],
    ['caller 5', [5]],
  ])
})
