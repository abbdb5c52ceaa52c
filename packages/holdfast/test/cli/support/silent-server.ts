/** A server that accepts every connection and never says a word. */
import { createServer, type AddressInfo, type Socket } from 'node:net'

export interface SilentServer {
  readonly port: number
  /** How many connections there have been. */
  connections(): number
  stop(): void
}

export async function listenInSilence(): Promise<SilentServer> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    // A client that is killed resets its connection.
    socket.on('error', () => undefined)
    sockets.push(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => sockets.length,
    stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
