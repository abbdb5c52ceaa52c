/** The model of a server that is behind: it shows a lock as it was, and never as it was not. */
import { Queues } from '@holdfast/simulator'
import { expect, test } from 'vitest'

const gone = (id: string) => ({ gone: new Map([[id, {}]]) })
const shownAt = (queues: Queues, atMs: number): string[] => [...queues.of('a', atMs).gone.keys()]

test('it shows a lock that nothing changed for long, also after several changes', () => {
  const queues = new Queues()
  queues.change('a', 1000, gone('first'))
  queues.change('a', 9000, gone('second'))
  queues.change('a', 9001, gone('third'))
  expect(shownAt(queues, 8999)).toEqual(['first'])
  expect(shownAt(queues, 9000)).toEqual(['second'])
  expect(shownAt(queues, Infinity)).toEqual(['third'])
})

test('it shows nothing that no server shows any more', () => {
  const queues = new Queues()
  queues.change('a', 1000, gone('first'))
  queues.change('a', 2000, gone('second'))
  queues.change('a', 9000, gone('third'))
  expect(shownAt(queues, 1500)).toEqual([])
  expect(shownAt(queues, 4000)).toEqual(['second'])
})
