/** A client of HTTP/1.1 by hand: it pipelines, reads slowly, and leaves when the test wants it. */
import { connect, type Socket } from 'node:net'
import { eventually } from '@holdfast/servers/eventually'
import { after } from './after.js'

export class RawClient {
  readonly socket: Socket
  #received = ''

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('error', () => undefined)
    this.socket.on('data', (bytes) => (this.#received += bytes.toString()))
    after(() => this.leave())
  }

  /** Sends a request with all of its body, unless `contentLength` promises more. */
  send(method: string, path: string, body = '', contentLength = body.length): void {
    const headers =
      method === 'POST'
        ? `Content-Type: application/json\r\nContent-Length: ${contentLength}\r\n`
        : ''
    this.socket.write(`${method} ${path} HTTP/1.1\r\nHost: site\r\n${headers}\r\n${body}`)
  }

  get received(): string {
    return this.#received
  }

  async receives(text: string): Promise<void> {
    await eventually(`the client receives ${text}`, () => this.#received.includes(text))
  }

  leave(): void {
    this.socket.destroy()
  }
}
