/**
 * The npm package `zookeeper`, as much of it as is used. It is imported when the first session is opened, so that nobody
 * needs it who uses another store.
 */
import { StoreUnavailableError } from '../../errors.js'

export interface Stat {
  readonly czxid: number
  readonly pzxid: number
  readonly version: number
  /** The session of an ephemeral node, in hexadecimal. */
  readonly ephemeralOwner: string
}

/** One session. Every request answers with a promise; after `close` some of them never do. */
export interface NativeClient {
  readonly client_id: string
  /** The timeout that the server granted, in milliseconds. */
  readonly timeout: number
  readonly is_unrecoverable: number | boolean
  init(config: object): unknown
  close(): unknown
  on(event: 'connect' | 'connecting' | 'close', listener: () => void): unknown
  create(path: string, data: string, flags: number): Promise<string>
  exists(path: string, watch: boolean): Promise<Stat>
  w_exists(path: string, watcher: () => void): Promise<Stat>
  get(path: string, watch: boolean): Promise<[Stat, Buffer | string | null]>
  get_children2(path: string, watch: boolean): Promise<[string[] | null, Stat]>
  set(path: string, data: string, version: number): Promise<Stat>
  delete_(path: string, version: number): Promise<unknown>
  sync(path: string): Promise<unknown>
  set_acl(path: string, version: number, acl: readonly object[]): Promise<unknown>
  add_auth(scheme: string, credentials: string, done: (code: number) => void): unknown
}

export interface Library {
  make(config: object): NativeClient
}

/** Flags of `create`. */
export const PERSISTENT = 0
export const EPHEMERAL = 1
export const EPHEMERAL_SEQUENTIAL = 3
export const CONTAINER = 4

/** All rights for the identity that asks, and none for others. */
export const CREATOR_ONLY = { perms: 31, scheme: 'auth', auth: '' }

type Constructor = new (config: object) => NativeClient

export async function loadLibrary(): Promise<Library> {
  try {
    const module = (await import('zookeeper')) as unknown as { default: Constructor }
    const Client = module.default
    return { make: (config) => new Client(config) }
  } catch (cause) {
    throw new StoreUnavailableError(
      'The ZooKeeper store needs the package zookeeper, which could not be loaded. Install it: npm install zookeeper. ' +
        'It compiles a native addon on Linux (python3, make, a C compiler), and must be installed anew for another Node: npm rebuild zookeeper.',
      { code: 'STORE_CONFIG', store: 'zookeeper', cause },
    )
  }
}
