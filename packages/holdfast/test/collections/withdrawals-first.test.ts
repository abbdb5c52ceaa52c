import { expect, test } from 'vitest'
import { withdrawalsFirst } from '../../dist/collections/withdrawals-first.js'

const isWithdrawal = (item: string): boolean => item.startsWith('w')

test('withdrawals go first, and the order among them and among the others stays', () => {
  expect(withdrawalsFirst(['a1', 'w1', 'a2', 'w2'], isWithdrawal)).toEqual(['w1', 'w2', 'a1', 'a2'])
})

test('each item is looked at once, in its order', () => {
  const seen: string[] = []
  withdrawalsFirst(['a1', 'w1', 'a2'], (item) => seen.push(item) > 0 && isWithdrawal(item))
  expect(seen).toEqual(['a1', 'w1', 'a2'])
})
