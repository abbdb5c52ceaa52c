/**
 * A proxy before a server, through which all takes the same time longer. Timers fire up to a
 * millisecond late, so that the proxy looks at the clock in each tick while something travels.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface DelayingProxy {
  readonly port: number
  stop(): Promise<void>
}

/** @param roundTripMs how long a request and its reply travel together */
export async function startDelayingProxy(
  target: number,
  roundTripMs: number,
): Promise<DelayingProxy> {
  const travelling: { readonly to: Socket; readonly bytes: Buffer; readonly dueMs: number }[] = []
  const sockets = new Set<Socket>()
  let isLooking = false
  const look = (): void => {
    const nowMs = performance.now()
    for (let next = travelling[0]; next && next.dueMs <= nowMs; next = travelling[0]) {
      travelling.shift()
      if (next.to.writable) next.to.write(next.bytes)
    }
    isLooking = travelling.length > 0
    if (isLooking) setImmediate(look)
  }
  const join = (from: Socket, to: Socket): void => {
    sockets.add(from)
    from.setNoDelay(true)
    from.on('data', (bytes) => {
      travelling.push({ to, bytes, dueMs: performance.now() + roundTripMs / 2 })
      if (!isLooking) look()
    })
    from.on('error', () => to.destroy())
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
  }
  const server = createServer((client) => {
    const other = connect(target, '127.0.0.1')
    join(client, other)
    join(other, client)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => void server.close(resolve))
    },
  }
}
