/** How script calls go through ioredis: as the library sends them, and through it. */
import { Redis as Redis5 } from 'ioredis5'
import { Redis as Redis6 } from 'ioredis6'
import { afterAll, describe, expect, test } from 'vitest'
import { startRedis } from '@holdfast/servers/redis'
import { sendWordsOf } from '../../dist/stores/redis/connection/transports/ioredis/ioredis-words.js'
import { after } from '../../../../test/support/after.js'

const server = await startRedis()
afterAll(() => server.stop())

const WORDS = ['return ARGV', '0', '', 'grün', 'a word', '$3\r\n', '錠'.repeat(50)]
const [, , ...ANSWER] = WORDS

describe.each([
  ['ioredis 5', Redis5],
  // Of what is used here, the types are alike.
  ['ioredis 6', Redis6 as unknown as typeof Redis5],
])('%s', (_name, Redis) => {
  function open(options: object = {}) {
    const client = new Redis({ port: server.port, retryStrategy: null, ...options })
    client.on('error', () => undefined)
    after(() => client.disconnect())
    return client
  }

  type Command = Parameters<Redis5['sendCommand']>[0]

  /** The commands that the library gets. */
  function commandsOf(client: Redis5): Command[] {
    const commands: Command[] = []
    const send = client.sendCommand.bind(client)
    client.sendCommand = (command: Command, ...more: []) => {
      commands.push(command)
      return send(command, ...more)
    }
    return commands
  }

  test('a command passes the client with all its words, where a tracer may see them', async () => {
    const client = open()
    const commands = commandsOf(client)
    expect(await sendWordsOf(client)('eval', WORDS)).toEqual(ANSWER)
    expect(commands.find(({ name }) => name === 'eval')?.args).toEqual(WORDS)
  })

  test('a command that is given before there is a connection is sent later', async () => {
    const client = open({ lazyConnect: true })
    expect(await sendWordsOf(client)('eval', WORDS)).toEqual(ANSWER)
  })

  test('an error of the server rejects, with the stack that the client asks for', async () => {
    const client = open({ showFriendlyErrorStack: true })
    const failed = sendWordsOf(client)('eval', ['return redis.error_reply("ERR no")', '0'])
    const error = await failed.then(
      () => undefined,
      (reason: unknown) => reason as Error,
    )
    expect(error?.message).toContain('no')
    expect(error?.stack).toContain('ioredis-words')
  })

  test('a client that was closed rejects', async () => {
    const client = open()
    client.disconnect()
    await expect(sendWordsOf(client)('eval', WORDS)).rejects.toThrow('closed')
  })

  test.each([{ keyPrefix: 'app:' }, { enableAutoPipelining: true }])(
    'the library makes the commands of a client with %j',
    async (options) => {
      const client = open(options)
      await client.ping()
      const words = ['return {KEYS[1], ARGV[1]}', '1', 'key', 'word']
      const { keyPrefix = '' } = client.options
      expect(await sendWordsOf(client)('eval', words)).toEqual([`${keyPrefix}key`, 'word'])
    },
  )
})

test('a client that gathers commands from now on sends them as before', async () => {
  const client = new Redis5({ port: server.port })
  after(() => client.disconnect())
  const send = sendWordsOf(client)
  expect(await send('eval', WORDS)).toEqual(ANSWER)
  client.options.enableAutoPipelining = true
  expect(await send('eval', WORDS)).toEqual(ANSWER)
})

test.each(['before', 'later'])('a call that the program wraps %s gets all words', async (when) => {
  const client = new Redis5({ port: server.port })
  after(() => client.disconnect())
  const send = sendWordsOf(client)
  if (when === 'later') expect(await send('eval', WORDS)).toEqual(ANSWER)
  const [called, { call }] = [[] as unknown[][], client]
  client.call = function wrapped(this: Redis5, ...words: unknown[]) {
    called.push(words)
    return Reflect.apply(call, this, words) as Promise<unknown>
  }
  const wrapped = when === 'later' ? send : sendWordsOf(client)
  expect(await wrapped('eval', WORDS)).toEqual(ANSWER)
  expect(called).toEqual([['eval', ...WORDS]])
})

test('a client whose commands are another class is called as it offers', async () => {
  const called: string[][] = []
  const call = async (...words: string[]): Promise<unknown> => {
    called.push(words)
    if (words.length === 1) throw new Error('Not understood, and not awaited.')
    return undefined
  }
  const client = { options: {}, status: 'ready', call, sendCommand: () => undefined }
  await sendWordsOf(client as unknown as Redis5)('eval', WORDS)
  expect(called).toContainEqual(['eval', ...WORDS])
})
