/**
 * Holdfast in a shop: on each store, with the fence where there is one, and the mistakes that can
 * still be made with it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Lease, TransactionalDatabase } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { createLocks } from 'holdfast'
import { putBack, readModifyWrite, readStock, writeOrder } from './steps.js'
import { openLocks, STORES, type StoreName } from './stores.js'
import type { Counter, Premises, Sale, Strategy, Visit } from './strategy.js'
import type { Transaction, Value } from '../shop/shop.js'

const NAME = 'shop'

/**
 * Tokens of different stores are no neighbours, so that each store's lock has a name of its own.
 */
function lockOf(store: StoreName): string {
  return `${NAME}:${store}`
}

/**
 * An in-process lock: it keeps the buyers of one process apart, and knows nothing of the others.
 */
export const localLock: Strategy = {
  id: 'local-lock',
  sound: false,
  trouble: 'crowd',
  async open({ shop }) {
    const locks = createLocks(memoryStore())
    return {
      buy: (visit) =>
        locks
          .mutex(NAME)
          .run(() => readModifyWrite(shop.direct, visit), { signal: visit.waitLimit }),
      close: () => locks.close(),
    }
  },
}

/**
 * The lock is released before the transaction commits: in between the next holder reads the old
 * stock.
 */
export const releasedBeforeCommit: Strategy = {
  id: 'released-before-commit',
  sound: false,
  trouble: 'crowd',
  shop: 'server',
  async open(premises) {
    const { locks, close } = await openLocks('embedded', premises)
    return {
      buy: (visit) =>
        premises.shop.transaction(async (tx) => {
          const lease = await locks.mutex(NAME).acquire({ signal: visit.waitLimit })
          const amount = await takeHome(tx, visit)
          await lease.release()
          if (amount === 1) await visit.lastItem()
          return amount > 0 ? 'sold' : 'soldOut'
        }),
      close,
    }
  },
}

async function takeHome(tx: Transaction, visit: Visit): Promise<number> {
  const amount = await readStock(tx, visit)
  if (amount > 0) {
    await visit.think()
    await putBack(tx, amount - 1)
    await writeOrder(tx, visit)
  }
  return amount
}

/**
 * In a database the lease covers the transaction; elsewhere the shop checks the token, or at least
 * the clock.
 */
function onStore(store: StoreName): Strategy {
  const inDatabase = store === 'postgres' || store === 'mysql'
  return {
    id: `holdfast-${store}`,
    sound: true,
    trouble: 'pause',
    ...(store === 'embedded' ? {} : { needs: [store] }),
    ...(inDatabase ? { shop: store } : {}),
    open: (premises) => (inDatabase ? openCovering(store, premises) : openFenced(store, premises)),
  }
}

async function openFenced(store: StoreName, premises: Premises): Promise<Counter> {
  const { locks, close } = await openLocks(store, premises)
  const sell = (visit: Visit, lease: Lease): Promise<Sale> =>
    premises.shop.transaction(async (tx) => {
      await tx.fence(lease)
      return readModifyWrite(tx, visit, () => lease.assertHeld())
    })
  return {
    buy: (visit) =>
      untilDone(visit, () =>
        locks.mutex(lockOf(store)).run((lease) => sell(visit, lease), { signal: visit.waitLimit }),
      ),
    close,
  }
}

async function openCovering(store: 'postgres' | 'mysql', premises: Premises): Promise<Counter> {
  const { locks, close } = await openLocks(store, premises)
  const db: TransactionalDatabase<Transaction> = {
    dialect: store,
    transaction: <T>(work: (tx: Transaction) => Promise<T>) => premises.shop.transaction(work),
    query: (tx, sql, values) => tx.query(sql, values as readonly Value[]),
  }
  return {
    buy: (visit) =>
      untilDone(visit, () =>
        locks.transaction(locks.mutex(lockOf(store)), db, (tx) => readModifyWrite(tx, visit), {
          signal: visit.waitLimit,
        }),
      ),
    close,
  }
}

/** What ends with these has sold nothing: the buyer queues up again. */
const AGAIN: ReadonlySet<unknown> = new Set(['LOCK_LOST', 'STALE_TOKEN', 'STORE_UNAVAILABLE'])
const AGAIN_MS = 50

async function untilDone(visit: Visit, buy: () => Promise<Sale>): Promise<Sale> {
  for (;;) {
    try {
      return await buy()
    } catch (error) {
      if (visit.waitLimit.aborted || !AGAIN.has((error as { code?: unknown }).code)) throw error
    }
    await sleep(AGAIN_MS)
  }
}

/**
 * One lock for the whole shop, each buyer in the order of arrival: what striping is measured
 * against.
 */
export const oneLockFifo: Strategy = {
  id: 'holdfast-fifo',
  sound: true,
  async open(premises) {
    const { locks, close } = await openLocks('embedded', premises, { fairness: 'fifo' })
    return {
      buy: (visit) =>
        locks
          .mutex(NAME)
          .run((lease) => sellFenced(premises, visit, lease), { signal: visit.waitLimit }),
      close,
    }
  },
}

function sellFenced({ shop }: Premises, visit: Visit, lease: Lease): Promise<Sale> {
  return shop.transaction((tx) => readModifyWrite(tx, visit, () => lease.assertHeld()))
}

export const HOLDFAST: readonly Strategy[] = STORES.map(onStore)
