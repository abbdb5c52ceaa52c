/** Applications for tests, closed after the test. */
import type { INestApplication, ModuleMetadata, Type } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import type { Locks } from 'holdfast'
import { testingStore, type TestingStore } from 'holdfast/testing'
import { getLocksToken, HoldfastTestingModule } from '@holdfast/nestjs'
import { after } from '../../../test/support/after.js'

export interface App {
  readonly app: INestApplication
  readonly store: TestingStore
  readonly locks: Locks
  get<T>(type: Type<T>): T
  /** Sends a request to the server, which listens on a port of its own. */
  request(path: string, init?: RequestInit): Promise<Response>
}

interface AppOptions {
  readonly waitMs?: number
  readonly ttlMs?: number
  /** Whether it listens. */
  readonly port?: boolean
  /** What is done to the application before it begins. */
  readonly configure?: (app: INestApplication) => void
}

/** Starts an application with locks in memory. */
export async function startApp(
  metadata: ModuleMetadata,
  { waitMs, ttlMs, port, configure }: AppOptions = {},
): Promise<App> {
  const store = testingStore()
  const holdfast = HoldfastTestingModule.forRoot({ store, waitMs, ttlMs })
  const { imports = [], ...rest } = metadata
  const module = await Test.createTestingModule({
    ...rest,
    imports: [holdfast, ...imports],
  }).compile()
  const app = module.createNestApplication({ logger: false })
  after(() => app.close())
  configure?.(app)
  if (port === true) await app.listen(0, '127.0.0.1')
  else await app.init()
  return {
    app,
    store,
    locks: app.get<Locks>(getLocksToken()),
    get: (type) => app.get(type),
    request: async (path, init) => fetch(`${await app.getUrl()}${path}`, init),
  }
}

/** A promise that the test settles. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open!: () => void
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open: () => open() }
}
