/** The ports of private servers. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { freePorts, listens } from '@holdfast/servers/ports'
import { expect, test } from 'vitest'

test('a port is kept from other runs while no server listens on it', async () => {
  const [port = 0] = await freePorts(1)
  expect(await listens(port)).toBe(false)
  const other = createSocket('udp4')
  const failed = once(other, 'error')
  other.bind({ port, address: '127.0.0.1', exclusive: true })
  expect(await failed).toMatchObject([{ code: 'EADDRINUSE' }])
  other.close()
})
