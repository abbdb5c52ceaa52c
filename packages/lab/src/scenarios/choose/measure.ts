/** Measures the stores that can be had here, one after the other. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ActorGroup } from '../../processes/actor-group.js'
import { percentile } from '../../report/figures.js'
import type { Services } from '../../services/services.js'
import { migrateShop, openShop } from '../../shop/open.js'
import type { StoreName } from '../../strategies/stores.js'
import type { Keep } from '../../visit.js'
import type { FreeFigures, MeasureSettings, Tenure } from './worker.js'

/** Free locks are acquired and released 64 at a time, in one process. */
export interface StoreFigures extends FreeFigures {
  readonly store: StoreName
  readonly handOffP50Ms: number
  readonly handOffP99Ms: number
  /** From a kill -9 of the holder until the next one has the lock, with a TTL of two seconds. */
  readonly failOverMs: number
}

const TTL_MS = 2000
const FOR_MS = 1000
/** How long a dead holder may keep others out before something is wrong. */
const FAIL_OVER_LIMIT_MS = 30_000

/** @param stores which of them to measure: a file on one machine is no store for several */
export async function measureStores(
  stores: readonly StoreName[],
  services: Services,
  began: (store: StoreName, number: number, of: number) => void,
  keep: Keep,
): Promise<StoreFigures[]> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-lab-'))
  const clean = async (): Promise<void> => rmSync(folder, { recursive: true, force: true })
  keep(clean)
  try {
    const all: StoreFigures[] = []
    for (const [index, store] of stores.entries()) {
      began(store, index + 1, stores.length)
      const figures = await measureStore(store, services, folder, keep)
      if (figures) all.push(figures)
    }
    return all
  } finally {
    await clean()
  }
}

async function measureStore(
  store: StoreName,
  services: Services,
  folder: string,
  keep: Keep,
): Promise<StoreFigures | undefined> {
  const address = store === 'embedded' ? '' : await services.address(store)
  if (address === undefined) return undefined
  const inDatabase = store === 'postgres' || store === 'mysql'
  const settings: MeasureSettings = {
    store,
    addresses: store === 'embedded' ? {} : { [store]: address },
    folder: join(folder, store),
    shop: inDatabase ? address : `sqlite:${join(folder, 'none.db')}`,
    ttlMs: TTL_MS,
    forMs: FOR_MS,
  }
  if (inDatabase) await prepare(address)
  const group = new ActorGroup(2)
  keep(() => group.end())
  try {
    return {
      store,
      ...(await free(group, settings)),
      ...(await handOffs(group, settings)),
      failOverMs: await failOver(group, settings),
    }
  } finally {
    await group.end()
  }
}

async function prepare(address: string): Promise<void> {
  const shop = await openShop(address)
  await migrateShop(shop)
  await shop.close()
}

async function free(group: ActorGroup, settings: MeasureSettings): Promise<FreeFigures> {
  return (await group.actors[0]?.run('measure-free', settings)) as FreeFigures
}

async function handOffs(
  group: ActorGroup,
  settings: MeasureSettings,
): Promise<Pick<StoreFigures, 'handOffP50Ms' | 'handOffP99Ms'>> {
  const waiting: (() => void)[] = []
  const outcomes = await group.play('measure-hand-off', () => settings, {
    arrived: ({ go }) => {
      waiting.push(go)
      if (waiting.length === group.actors.length) for (const one of waiting) one()
    },
  })
  const tenures = outcomes.flatMap((outcome, actor) => {
    if (outcome.status === 'rejected') throw outcome.reason
    return (outcome.value as Tenure[]).map(([grantedMs, releasedMs]) => ({
      actor,
      grantedMs,
      releasedMs,
    }))
  })
  const inOrder = tenures.toSorted((one, other) => one.grantedMs - other.grantedMs)
  const handOffsMs = inOrder.flatMap(({ actor, grantedMs }, index) => {
    const before = inOrder[index - 1]
    return before && before.actor !== actor ? [grantedMs - before.releasedMs] : []
  })
  return { handOffP50Ms: percentile(handOffsMs, 0.5), handOffP99Ms: percentile(handOffsMs, 0.99) }
}

async function failOver(group: ActorGroup, settings: MeasureSettings): Promise<number> {
  const [holder, waiter] = group.actors
  if (!holder || !waiter) return NaN
  await new Promise<void>((resolve, reject) => {
    // It ends by the kill, which is no failure here.
    holder.run('hold', settings, { arrived: () => resolve() }).catch(reject)
  })
  let killedMs = 0
  let grantedMs = NaN
  const limit = setTimeout(() => void waiter.kill(), FAIL_OVER_LIMIT_MS)
  await waiter
    .run('wait-behind', settings, {
      noted: (_actor, note) => {
        if (note === 'granted') grantedMs = performance.now()
        // The note comes just before the attempt; a little later the waiter stands in the queue.
        else
          setTimeout(() => ((killedMs = performance.now()), void holder.kill()), settings.ttlMs / 8)
      },
    })
    .catch(() => {})
  clearTimeout(limit)
  return grantedMs - killedMs
}
