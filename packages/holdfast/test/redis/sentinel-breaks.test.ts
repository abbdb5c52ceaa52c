/**
 * Connections to a primary behind Sentinels that break under a call, which the client library sends
 * again by itself.
 */
import type { Claim, Store } from 'holdfast/store'
import { expect, test } from 'vitest'
import { Proxy } from '@holdfast/servers/proxy'
import { openSentinelClient } from '@holdfast/servers/redis-clients'
import type { SentinelGroup } from '@holdfast/servers/redis-sentinel'
import { eventually } from '@holdfast/servers/eventually'
import { requestsOf } from '../../dist/stores/redis/verbs/requests.js'
import { RedisVoter } from '../../dist/stores/redlock/nodes/redis-voter.js'
import {
  after,
  closing,
  LIBRARIES,
  makeClaim,
  openStore,
  startTestSentinels,
  take,
  TRY,
  type Library,
} from './support/world.js'

/** A store whose connections to the primary lead through the proxy. */
async function openThrough(
  proxy: Proxy,
  group: SentinelGroup,
  library: Library,
): Promise<RedisVoter> {
  const { name, sentinelPorts: ports } = group
  const seen = { host: group.host, port: proxy.port }
  const map = { [`${group.host}:${proxy.target}`]: seen }
  const opened = openSentinelClient(library, { name, ports }, { natMap: map, nodeAddressMap: map })
  after(() => opened.end())
  await opened.ready
  return closing(new RedisVoter(requestsOf({ client: opened.client })))
}

/** Whether a claim that arrives once more is refused. */
async function isRefused(other: Store, claim: Claim): Promise<boolean> {
  return (await other.attempt(claim, TRY)).outcome === 'withdrawn'
}

test('claim whose attempt a client of Sentinels sent twice takes no lock when it arrives once more', async () => {
  const group = await startTestSentinels()
  const primary = await group.primary()
  const other = openStore(primary)
  for (const library of LIBRARIES) {
    const proxy = await Proxy.to(primary.port)
    after(() => proxy.close())
    const store = await openThrough(proxy, group, library)
    const claim = (lock: string): Claim => makeClaim(`${library} ${lock}`)
    const [vote, busy, released] = [claim('vote'), claim('busy'), claim('released')]
    await take(store, vote)
    expect(proxy.packets, library).toBeGreaterThan(0)

    proxy.faults.cutReplyAt = 0
    await take(store, released)
    expect(await store.withdraw(released)).toBe('released')
    expect(await isRefused(other, released), library).toBe(true)

    const holder = makeClaim(busy.lock)
    await take(other, holder)
    proxy.faults.cutReplyAt = 0
    expect((await store.attempt(busy, TRY)).outcome).toBe('busy')
    await other.withdraw(holder)
    await eventually(`${library}: it is withdrawn`, () => isRefused(other, busy))

    proxy.faults.cutReplyAt = 0
    await expect(store.retract(vote), library).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  }
})
