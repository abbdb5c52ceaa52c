/** Measures the stores that can be had here, one after the other. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Conduct } from '../../actor.js'
import { ActorGroup } from '../../processes/actor-group.js'
import { percentile } from '../../report/figures.js'
import { CATALOGUE, type ServiceName } from '../../services/catalogue.js'
import { LabServerError } from '../../services/server-error.js'
import { migrateShop, openShop } from '../../shop/open.js'
import type { StoreName } from '../../strategies/stores.js'
import type { Said } from '../../text/said.js'
import type { Visit } from '../../visit.js'
import type { FreeFigures, MeasureSettings, Tenure } from './worker.js'

/** Free locks are acquired and released 64 at a time, in one process. */
export interface StoreFigures extends FreeFigures {
  readonly store: StoreName
  readonly handOffP50Ms: number
  readonly handOffP99Ms: number
  /** From a kill -9 of the holder until the next one has the lock, with a TTL of two seconds. */
  readonly failOverMs: number
}

/** A store that is there, and could not be measured. */
export interface Unmeasured {
  readonly store: StoreName
  readonly why: Said
}

const TTL_MS = 2000
const FOR_MS = 1000
/** How long a step may take, a dead holder's TTL included, before something is wrong. */
const STEP_LIMIT_MS = 30_000

/**
 * Measures one store after the other. One that is slow or away costs its own figures only.
 * @param stores which of them to measure: a file on one machine is no store for several
 */
export async function measureStores(
  stores: readonly StoreName[],
  visit: Visit,
  began: (store: StoreName, number: number, of: number) => void,
  limitMs = STEP_LIMIT_MS,
): Promise<{ figures: StoreFigures[]; unmeasured: Unmeasured[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-lab-'))
  const clean = async (): Promise<void> => rmSync(folder, { recursive: true, force: true })
  visit.keep(clean)
  const figures: StoreFigures[] = []
  const unmeasured: Unmeasured[] = []
  try {
    for (const [index, store] of stores.entries()) {
      began(store, index + 1, stores.length)
      try {
        const measured = await measureStore(store, visit, folder, limitMs)
        if (measured) figures.push(measured)
      } catch (error) {
        // Everything fails while the visit ends.
        if (visit.ended) throw error
        unmeasured.push({ store, why: reasonOf(error) })
      }
    }
    return { figures, unmeasured }
  } finally {
    await clean()
  }
}

async function measureStore(
  store: StoreName,
  visit: Visit,
  folder: string,
  limitMs: number,
): Promise<StoreFigures | undefined> {
  const address = store === 'embedded' ? '' : await visit.services.address(store)
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
  if (inDatabase) await within(limitMs, prepare(address))
  // The row of the store says what a warning would say.
  const group = new ActorGroup(2, { NODE_NO_WARNINGS: '1' })
  visit.keep(() => group.end())
  try {
    return await visit.unlessServersDie(
      measureWith(group, settings, limitMs),
      (server) => store !== 'embedded' && isServerOf(store, server),
    )
  } finally {
    await group.end()
  }
}

async function measureWith(
  group: ActorGroup,
  settings: MeasureSettings,
  limitMs: number,
): Promise<StoreFigures> {
  return {
    store: settings.store,
    ...(await within(limitMs, free(group, settings))),
    ...(await within(limitMs, handOffs(group, settings))),
    failOverMs: await within(limitMs, failOver(group, settings)),
  }
}

function isServerOf(store: ServiceName, name: string): boolean {
  const { server, title } = CATALOGUE[store]
  return name.startsWith(server ?? title)
}

class TooSlowError extends Error {
  constructor(readonly limitMs: number) {
    super(`This was not done within ${limitMs} ms.`)
  }
}

function within<T>(limitMs: number, step: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TooSlowError(limitMs)), limitMs)
  })
  return Promise.race([step, late]).finally(() => clearTimeout(timer))
}

function reasonOf(error: unknown): Said {
  if (error instanceof TooSlowError)
    return { key: 'tooSlow', values: { seconds: error.limitMs / 1000 } }
  if (error instanceof LabServerError)
    return error.key === 'notStarted' ? error : { key: 'serverEnded', values: error.values }
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
  if (code === 'STORE_UNAVAILABLE') return { key: 'storeAway', values: {} }
  return { key: 'measureFailed', values: { why: String(message ?? error) } }
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
  const { actors } = group
  const conduct: Conduct = {
    arrived: ({ go }) => {
      waiting.push(go)
      if (waiting.length === actors.length) for (const one of waiting) one()
    },
  }
  // One that fails ends this: the other may wait for it forever.
  const outcomes = await Promise.all(
    actors.map((actor) => actor.run('measure-hand-off', settings, conduct)),
  )
  const tenures = outcomes.flatMap((outcome, actor) =>
    (outcome as Tenure[]).map(([grantedMs, releasedMs]) => ({ actor, grantedMs, releasedMs })),
  )
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
  await waiter.run('wait-behind', settings, {
    noted: (_actor, note) => {
      if (note === 'granted') grantedMs = performance.now()
      // The note comes just before the attempt; a little later the waiter stands in the queue.
      else
        setTimeout(() => ((killedMs = performance.now()), void holder.kill()), settings.ttlMs / 8)
    },
  })
  return grantedMs - killedMs
}
