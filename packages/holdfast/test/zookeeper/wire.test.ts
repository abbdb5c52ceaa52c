/** ZooKeeper's messages in pieces, too long, too short, and out of order. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { freePorts } from '@holdfast/servers/ports'
import { ZooKeeperSession } from '../../dist/stores/zookeeper/session/session.js'
import { MessageSplitter } from '../../dist/stores/coordination/connection/message-splitter.js'
import { Reader, Writer } from '../../dist/stores/zookeeper/wire/jute.js'
import { getData, remove } from '../../dist/stores/zookeeper/wire/messages.js'
import { after } from './support/world.js'

const framed = (text: string): Buffer => new Writer().text(text).frame()
const header = (xid: number): Writer => new Writer().int(xid).long(1n).int(0)
const read = (messages: Buffer[]): string[] => messages.map((message) => new Reader(message).text())

describe('messages', () => {
  test('are put together out of any pieces', () => {
    const bytes = Buffer.concat(['', 'one', 'two'.repeat(1000), '🔒'].map(framed))
    for (const size of [1, 2, 3, 5, 7, 1000, bytes.length]) {
      const splitter = new MessageSplitter()
      const texts: string[] = []
      for (let at = 0; at < bytes.length; at += size)
        texts.push(...read(splitter.take(bytes.subarray(at, at + size))))
      expect(texts).toEqual(['', 'one', 'two'.repeat(1000), '🔒'])
    }
  })

  test('of an impossible length are refused', () => {
    for (const length of [-1, 0x7fff_ffff]) {
      const bytes = Buffer.alloc(4)
      bytes.writeInt32BE(length)
      expect(() => new MessageSplitter().take(bytes)).toThrow(RangeError)
    }
  })

  test('that end too early are refused', () => {
    const half = framed('a text').subarray(4, 8)
    expect(() => new Reader(half).text()).toThrow(RangeError)
    expect(() => new Reader(Buffer.alloc(3)).long()).toThrow(RangeError)
  })

  test('have the chroot in their paths, and no other part has', () => {
    const written = new Writer('/root').path('/').path('/a').frame().subarray(4)
    expect(read([written])).toEqual(['/root'])
    const reader = new Reader(written, '/root')
    expect([reader.path(), reader.path()]).toEqual(['/', '/a'])
  })
})

async function portOf(answer: (socket: Socket) => void): Promise<number> {
  const server = createServer(answer)
  after(async () => void server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

function opening(connect: string): Promise<ZooKeeperSession> {
  return ZooKeeperSession.open({ connect, connectTimeoutMs: 300 }, 10_000, 'exact')
}

describe('when no session is to be had, the error says why', () => {
  test('there is no listener', async () => {
    const [port = 0] = await freePorts(1)
    const error: unknown = await opening(`127.0.0.1:${port}`).catch((caught: unknown) => caught)
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(`127.0.0.1:${port}: connect ECONNREFUSED`) as string,
      cause: { cause: { code: 'ECONNREFUSED' } },
    })
  })

  test('there is no such host', async () => {
    await expect(opening('no-such-host.invalid:2181')).rejects.toThrow(
      /no-such-host\.invalid.*(ENOTFOUND|EAI_AGAIN)/,
    )
  })

  test('it is no ZooKeeper', async () => {
    const port = await portOf((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    await expect(opening(`127.0.0.1:${port}`)).rejects.toThrow('does not greet as ZooKeeper does')
  })

  test('it ends the connection', async () => {
    const port = await portOf((socket) => socket.destroy())
    await expect(opening(`127.0.0.1:${port}`)).rejects.toThrow(
      /the server ended the connection|ECONNRESET/,
    )
  })
})

test('a server that answers signs of life alone is left after a third of a short session', async () => {
  const greeted = new Set<Socket>()
  const port = await portOf((socket) => {
    const isFirst = greeted.size === 0
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      const xid = bytes.readInt32BE(4)
      const ping = new Writer().int(-2).long(1n).int(0).frame()
      const answer = new Writer().int(xid).long(1n).int(0).frame()
      if (!greeted.has(socket))
        socket.write(new Writer().int(0).int(1500).long(7n).bytes(Buffer.alloc(16)).frame())
      else if (xid === -2) socket.write(ping)
      else if (!isFirst) socket.write(answer)
      greeted.add(socket)
    })
  })
  const connect = `127.0.0.1:${port}`
  const session = await ZooKeeperSession.open({ connect }, 1500, 'exact')
  after(() => session.end())
  const startMs = performance.now()
  await session.askAgain(remove('/x'))
  expect(greeted.size).toBe(2)
  // Sessions that last longer leave it after 2.5 seconds.
  expect(performance.now() - startMs).toBeLessThan(2400)
})

test('a server that greets and hangs up is asked twice a second in the end', async () => {
  let connections = 0
  const port = await portOf((socket) => {
    connections += 1
    socket.on('error', () => undefined)
    socket.on('data', () => {
      socket.end(new Writer().int(0).int(10_000).long(7n).bytes(Buffer.alloc(16)).frame())
    })
  })
  const session = await opening(`127.0.0.1:${port}`)
  after(() => session.end())
  await expect(session.askAgain(getData('/x', false))).rejects.toMatchObject({ code: -4 })
  // Four seconds with pauses of 50, 100, 200, 400, and then of 500 ms. It was hundreds a second.
  expect(connections).toBeLessThan(20)
})

/** How many timers keep the process alive now. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
}

test('a request without a server does not keep the process alive', async () => {
  let greetings = 0
  const port = await portOf((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => {
      greetings += 1
      if (greetings > 1) return
      socket.end(new Writer().int(0).int(10_000).long(7n).bytes(Buffer.alloc(16)).frame())
    })
  })
  const session = await opening(`127.0.0.1:${port}`)
  after(() => session.end())
  // The second connection is never greeted.
  await expect.poll(() => greetings).toBe(2)
  expect(session.connected).toBe(false)
  const before = timers()
  const outcome = expect(session.ask(getData('/x', false))).rejects.toMatchObject({ code: -112 })
  expect(timers()).toBe(before)
  await session.end()
  await outcome
})

describe('a server that talks nonsense', () => {
  const sockets: Socket[] = []
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy()
  })

  /** Greets each client, and answers each request of its first connection with these bytes. */
  async function openTo(answer: (xid: number) => Buffer): Promise<ZooKeeperSession> {
    const server = createServer((socket) => {
      sockets.push(socket)
      const first = sockets.length === 1
      let greeted = false
      socket.on('data', (bytes) => {
        if (!greeted)
          socket.write(new Writer().int(0).int(10_000).long(7n).bytes(Buffer.alloc(16)).frame())
        else if (first) socket.write(answer(bytes.readInt32BE(4)))
        else socket.write(new Writer().int(bytes.readInt32BE(4)).long(1n).int(0).text('/').frame())
        greeted = true
      })
      socket.on('error', () => undefined)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('no port')
    const session = await ZooKeeperSession.open(
      { connect: `127.0.0.1:${address.port}` },
      10_000,
      'exact',
    )
    after(async () => {
      await session.end()
      server.close()
    })
    return session
  }

  const NONSENSE: [string, (xid: number) => Buffer][] = [
    ['an answer to another request', (xid) => header(xid + 5).frame()],
    ['an answer that is too short', (xid) => header(xid).frame()],
    ['a length that is none', () => Buffer.alloc(8, 0xff)],
    ['half a header', () => new Writer().int(1).frame()],
  ]

  test.each(NONSENSE)(
    'by %s loses the connection, and the session continues over another',
    async (_, answer) => {
      const session = await openTo(answer)
      await expect(session.ask(getData('/x', false))).rejects.toMatchObject({ code: -4 })
      await expect.poll(() => session.connected).toBe(true)
      await session.ask(remove('/x'))
      expect(session.lost).toBe(false)
    },
  )
})
