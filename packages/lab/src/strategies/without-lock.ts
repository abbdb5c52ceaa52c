/** What shops do before they have heard of locks, and what needs none. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ITEM } from '../shop/shop.js'
import { readModifyWrite, readStock, takeOne, writeOrder } from './steps.js'
import { nothingToClose, type Strategy } from './strategy.js'

/** Counts the orders, and writes one more. Nothing is changed that two buyers could meet at. */
export const noLock: Strategy = {
  id: 'no-lock',
  sound: false,
  trouble: 'crowd',
  leavesStock: true,
  open: async ({ shop }) => ({
    async buy(visit) {
      const [stock] = await shop.direct.query('select amount from stock where item = ?', [ITEM])
      const [sold] = await shop.direct.query('select count(*) as n from orders where item = ?', [
        ITEM,
      ])
      const left = Number(stock?.['amount']) - Number(sold?.['n'])
      visit.saw(left)
      if (left <= 0) return 'soldOut'
      await visit.think()
      if (left === 1) await visit.lastItem()
      await writeOrder(shop.direct, visit)
      return 'sold'
    },
    close: nothingToClose,
  }),
}

export const readModifyWriteAlone: Strategy = {
  id: 'read-modify-write',
  sound: false,
  trouble: 'crowd',
  open: async ({ shop }) => ({
    buy: (visit) => readModifyWrite(shop.direct, visit),
    close: nothingToClose,
  }),
}

/** The decrement is atomic, and the check before it is not a part of it. */
export const checkThenDecrement: Strategy = {
  id: 'check-then-decrement',
  sound: false,
  trouble: 'crowd',
  open: async ({ shop: { direct } }) => ({
    async buy(visit) {
      const amount = await readStock(direct, visit)
      if (amount <= 0) return 'soldOut'
      await visit.think()
      if (amount === 1) await visit.lastItem()
      await takeOne(direct)
      await writeOrder(direct, visit)
      return 'sold'
    },
    close: nothingToClose,
  }),
}

/**
 * How long a buyer whose version was outdated waits before it looks again, at most, in
 * milliseconds.
 */
const BACKOFF_MS = 20

/** Takes one only if the row is as it was read, and looks again otherwise. */
export const optimisticVersion: Strategy = {
  id: 'optimistic-version',
  sound: true,
  trouble: 'crowd',
  open: async ({ shop }) => ({
    async buy(visit) {
      for (;;) {
        visit.waitLimit.throwIfAborted()
        const [row] = await shop.direct.query('select amount, version from stock where item = ?', [
          ITEM,
        ])
        const amount = Number(row?.['amount'])
        visit.saw(amount)
        if (amount <= 0) return 'soldOut'
        await visit.think()
        if (amount === 1) await visit.lastItem()
        const sold = await shop.transaction(async (tx) => {
          const changed = await tx.change(
            'update stock set amount = amount - 1, version = version + 1 where item = ? and version = ?',
            [ITEM, Number(row?.['version'])],
          )
          if (changed > 0) await writeOrder(tx, visit)
          return changed > 0
        })
        if (sold) return 'sold'
        await sleep(Math.random() * BACKOFF_MS)
      }
    },
    close: nothingToClose,
  }),
}
