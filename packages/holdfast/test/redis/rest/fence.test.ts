/** A resource in Redis over HTTP that refuses late tokens. */
import { Redis as Upstash } from '@upstash/redis'
import type { Lease } from 'holdfast'
import { assertFence, fencedWrite } from 'holdfast/fence'
import { expect, test } from 'vitest'
import { startBridge } from './world.js'

const leaseWith = (token: bigint): Lease =>
  ({ name: 'lock', token, claimId: `owner ${token}`, exclusive: true }) as never

const write = [['SET', 'stock:9', '41'], ['PING']] as const

test('a write with a late token is refused, and each call declares the keys of its commands', async () => {
  const bridge = await startBridge()
  const client = new Upstash({ url: bridge.url, token: bridge.token })
  expect(await fencedWrite(client, leaseWith(2n), 'stock', write)).toEqual(['OK', 'PONG'])
  const keys = ['stock:9']
  const late = fencedWrite(client, leaseWith(1n), 'stock', write, { keys })
  await expect(late).rejects.toMatchObject({ code: 'STALE_TOKEN' })
  await assertFence(client, leaseWith(3n), 'stock')
  const names = ['hf:fence:{stock}', 'hf:fence:{stock}:c', 'stock:9']
  const writes = bridge.requests.filter(({ command }) => command[3] === names[0])
  const declared = writes.map(({ command }) => command.slice(3, 3 + Number(command[2])))
  expect(declared.filter((all) => all.length > 1)).toEqual([names, names, names])
})

test('a write whose answer is lost is sent once', async () => {
  const bridge = await startBridge()
  const client = new Upstash({ url: bridge.url, token: bridge.token })
  const add = [['INCR', 'count']] as const
  await fencedWrite(client, leaseWith(1n), 'count', add)
  bridge.fault = () => 'lose-answer'
  const lost = fencedWrite(client, leaseWith(2n), 'count', add, { keys: ['count'] })
  await expect(lost).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  bridge.fault = () => undefined
  expect(await client.get('count')).toBe(2)
})
