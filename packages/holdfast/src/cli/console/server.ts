/** The server of `holdfast console`. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { LocksConsole } from '../../console/console.js'
import { SystemError, UsageError } from '../cli-error.js'
import { urlHost, type ListenAddress } from './address.js'

/** A client that sends its headers more slowly keeps a connection for nothing. */
const HEADERS_TIMEOUT_MS = 10_000

export interface Listening {
  readonly server: Server
  /** The address of the page. */
  readonly url: string
}

/** @throws SystemError when the address cannot be used */
export async function listen(
  page: LocksConsole,
  { host, port }: ListenAddress,
): Promise<Listening> {
  const options = { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: HEADERS_TIMEOUT_MS }
  const server = createServer(options, (req, res) => page.node(req, res))
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(refusal(host, port, cause)))
    server.listen(port, host, resolve)
  })
  const { port: chosen } = server.address() as AddressInfo
  return { server, url: `http://${urlHost(host)}:${chosen}/` }
}

function refusal(host: string, port: number, cause: NodeJS.ErrnoException): Error {
  const address = `${urlHost(host)}:${port}`
  if (cause.code === 'ENOTFOUND' || cause.code === 'EADDRNOTAVAIL')
    return new UsageError(`This machine has no address ${host}. Write --listen 127.0.0.1:0`)
  if (cause.code === 'EADDRINUSE')
    return new SystemError(`Another program listens at ${address}. Port 0 chooses a free one.`, {
      cause,
    })
  return new SystemError(`The console cannot listen at ${address}: ${cause.message}.`, { cause })
}

export async function close({ server }: Listening): Promise<void> {
  const closed = new Promise<void>((resolve) => void server.close(() => resolve()))
  server.closeAllConnections()
  await closed
}
