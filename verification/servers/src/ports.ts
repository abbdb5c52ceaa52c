/** Ports on 127.0.0.1 for private servers. */
import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'

/** Below this, ports are likely to have a meaning. */
const FIRST_PORT = 10_240
const FEWEST_PORTS = 2000

/**
 * Free ports on 127.0.0.1: all looked up together, so that they differ. They lie below the ports
 * that the system gives to connections. One of those could otherwise take the port before the
 * server does, or while it is restarted.
 */
export async function freePorts(count: number): Promise<number[]> {
  const endPort = firstOfConnections()
  const holders: Server[] = []
  while (holders.length < count) {
    const wanted = endPort - FIRST_PORT < FEWEST_PORTS ? 0 : randomInt(FIRST_PORT, endPort)
    const holder = await listenOn(wanted)
    if (holder) holders.push(holder)
  }
  return Promise.all(
    holders.map(async (holder) => {
      const { port } = holder.address() as AddressInfo
      await new Promise((resolve) => void holder.close(resolve))
      return port
    }),
  )
}

/** The first port that the system gives to connections. */
function firstOfConnections(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s/)[0])
  } catch {
    // Not Linux: any port will do.
    return 0
  }
}

/** Undefined when the port is taken. */
function listenOn(port: number): Promise<Server | undefined> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    )
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

/** Whether a process listens on a port. */
export function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
