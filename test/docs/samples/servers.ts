/** The servers that the samples name, on free ports of this machine. */
import { storeOf } from '@holdfast/stores'
import type { SamplePlaces } from '@holdfast/stores/descriptor'
import { Pool } from 'pg'

interface Started {
  readonly places: SamplePlaces
  stop(): Promise<unknown>
}

/** The table that the samples about databases use. */
const STOCK = `
  create table stock (id int primary key, amount int not null, version int not null default 1);
  insert into stock values (9, 100), (10, 100);
`

export class Servers {
  readonly #started: ReadonlyMap<string, Started>

  private constructor(started: ReadonlyMap<string, Started>) {
    this.#started = started
  }

  /** @param names of stores */
  static async start(names: ReadonlySet<string>): Promise<Servers> {
    const starting = [...names].map(async (name) => [name, await startOne(name)] as const)
    return new Servers(new Map(await Promise.all(starting)))
  }

  /** Returns the environment in which a program finds these servers. */
  envFor(names: readonly string[]): Record<string, string> {
    const places = names.flatMap((name) => this.#started.get(name)?.places ?? [])
    const ports = Object.assign({}, ...places.map((one) => one.ports)) as object
    return Object.assign(
      { PORTS: JSON.stringify(ports) },
      ...places.map(({ env }) => env),
    ) as Record<string, string>
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#started.values()].map((server) => server.stop()))
  }
}

async function startOne(name: string): Promise<Started> {
  const { service, samples } = storeOf(name)
  const { at, remove } = await service.start({ empty: true })
  if (name === 'postgres') await makeStock(at[0] ?? '')
  return { places: samples?.(at) ?? {}, stop: remove }
}

async function makeStock(connectionString: string): Promise<void> {
  const pool = new Pool({ connectionString })
  // A pool that was ended may still have a connection when the server goes.
  pool.on('error', () => undefined)
  await pool.query(STOCK)
  await pool.end()
}
