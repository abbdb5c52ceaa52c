/** etcd for tests: claims, clients that are closed in the end, and etcd's own view through its JSON gateway. */
import { createLocks, type Locks, type LocksOptions } from 'holdfast'
import { etcdStore, type EtcdOptions } from 'holdfast/etcd'
import { CAPACITY_ALL, type Claim, type Store } from 'holdfast/store'
import { afterEach } from 'vitest'
import { Proxy } from '@holdfast/servers/proxy'

const closing: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** Runs after the test, the last one first. */
export function after(close: () => Promise<unknown>): void {
  closing.push(close)
}

export function openStore(options: EtcdOptions): Store<true> {
  const store = etcdStore(options)
  after(async () => store.close())
  return store
}

export function openLocks(options: EtcdOptions, settings: LocksOptions = {}): Locks<true> {
  const store = openStore(options)
  const locks = createLocks(store, settings)
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

/** A proxy in front of an endpoint, and the address to give to clients. */
export async function openProxy(endpoint: string): Promise<{ proxy: Proxy; endpoints: readonly string[] }> {
  const proxy = await Proxy.to(Number(new URL(endpoint).port))
  after(() => proxy.close())
  return { proxy, endpoints: [`http://127.0.0.1:${proxy.port}`] }
}

let claims = 0

export function makeClaim(overrides: Partial<Claim> = {}): Claim {
  claims += 1
  const id = `claim-${process.pid}-${claims}`
  return {
    lock: `lock-${process.pid}`,
    id,
    kind: 'mutex',
    capacity: CAPACITY_ALL,
    weight: CAPACITY_ALL,
    ttlMs: 10_000,
    heartbeatMs: 1000,
    owner: { clientId: id, host: 'test', pid: process.pid },
    ...overrides,
  }
}

export const QUEUE = { enqueue: true, tokens: 1 } as const
export const ONCE = { enqueue: false, tokens: 1 } as const

/** Asks etcd itself. */
export async function ask<T>(endpoint: string, path: string, body: object = {}): Promise<T> {
  const response = await fetch(`${endpoint}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
  return (await response.json()) as T
}

interface Kv {
  readonly key: string
  readonly value?: string
  readonly lease?: string
}

const decode = (text: string): string => Buffer.from(text, 'base64').toString()

/** All keys that begin so, as etcd has them. */
export async function keys(
  endpoint: string,
  prefix: string,
): Promise<{ key: string; value: string; lease: string }[]> {
  const end = Buffer.concat([Buffer.from(prefix), Buffer.of(0xff)])
  const body = { key: Buffer.from(prefix).toString('base64'), range_end: end.toString('base64') }
  const { kvs = [] } = await ask<{ kvs?: Kv[] }>(endpoint, 'kv/range', body)
  return kvs.map(({ key, value = '', lease = '0' }) => ({ key: decode(key), value: decode(value), lease }))
}

/** Ends the session of a claim, as if its client had been silent for too long. */
export async function endSession(endpoint: string, { lock, id }: Claim): Promise<void> {
  const queue = await keys(endpoint, `holdfast/locks/${lock}/`)
  const found = queue.find(({ value }) => (JSON.parse(value) as { id?: string }).id === id)
  if (!found) throw new Error(`No entry of ${id}.`)
  await ask(endpoint, 'lease/revoke', { ID: found.lease })
}
