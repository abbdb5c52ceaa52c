/** Ports on 127.0.0.1 for private servers. */
import { createSocket, type Socket } from 'node:dgram'
import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'

/** Below this, ports are likely to have a meaning. */
const FIRST_PORT = 10_240
const FEWEST_PORTS = 2000

/**
 * Free ports on 127.0.0.1, each of which this process keeps for as long as it lives. They lie below
 * the ports that the system gives to connections. One of those could otherwise take the port before
 * the server does, or while it is restarted.
 *
 * Other runs of tests on this machine could do the same. A client would then find their server in
 * the place of its own, which nothing reports. So a port is taken as UDP as well, where no server
 * of ours listens, and that socket stays.
 */
export async function freePorts(count: number): Promise<number[]> {
  const endPort = firstOfConnections()
  const ports: number[] = []
  while (ports.length < count) {
    const wanted = endPort - FIRST_PORT < FEWEST_PORTS ? 0 : randomInt(FIRST_PORT, endPort)
    const port = await takePort(wanted)
    if (port !== undefined) ports.push(port)
  }
  return ports
}

/** @param wanted the port, or 0 for any. Resolves to undefined where it is taken. */
async function takePort(wanted: number): Promise<number | undefined> {
  const keeper = await bindTo(wanted)
  if (!keeper) return undefined
  const { port } = keeper.address()
  const holder = await listenOn(port)
  if (holder) await new Promise((resolve) => void holder.close(resolve))
  else keeper.close()
  return holder && port
}

/** Takes a port as UDP. It keeps no process alive. Undefined when the port is taken. */
function bindTo(port: number): Promise<Socket | undefined> {
  const socket = createSocket('udp4').unref()
  return new Promise((resolve, reject) => {
    socket.once('error', (error: NodeJS.ErrnoException) => {
      socket.close()
      if (error.code === 'EADDRINUSE') resolve(undefined)
      else reject(error)
    })
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(socket))
  })
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
