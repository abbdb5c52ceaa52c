/** A private redis-server: one node, nothing persisted unless asked for. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { newestPath, usesNewest, type NewestServer } from './newest.js'
import { makeFolder, removeFolder } from './folders.js'
import { freePorts } from './ports.js'
import { Service } from './service.js'

export const NEWEST_REDIS: NewestServer = {
  name: 'redis',
  packages: ['redis-server'],
  versionOf: /^redis-server_/,
}

export const NEWEST_VALKEY: NewestServer = {
  name: 'valkey',
  packages: ['valkey-server'],
  versionOf: /^valkey-server_/,
}

export interface RedisServerOptions {
  readonly password?: string
  /** Keep what was written through a restart. */
  readonly appendOnly?: boolean
  /** Further lines of the configuration, such as `['maxmemory', '1mb']`. */
  readonly config?: readonly (readonly [string, string])[]
  /** Files to write into its folder before it starts, by name. */
  readonly files?: Readonly<Record<string, string>>
  /** Added to the server's environment. */
  readonly env?: NodeJS.ProcessEnv
  /** Give it a disk of its own of this size, which needs root. */
  readonly diskMb?: number
}

/** How long one command over the side door may take, in milliseconds. */
const COMMAND_LIMIT_MS = 5000

export class RedisServer {
  readonly host = '127.0.0.1'
  readonly port: number
  readonly password: string | undefined
  readonly #service: Service
  readonly folder: string

  constructor(port: number, options: RedisServerOptions) {
    this.port = port
    this.password = options.password
    this.folder = makeFolder('redis', options.diskMb)
    const { appendOnly = false, password, config = [], files = {} } = options
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.folder, name), text)
    const settings: (readonly [string, string])[] = [
      ['port', String(port)],
      ['bind', this.host],
      ['dir', this.folder],
      ['save', ''],
      ['appendonly', appendOnly ? 'yes' : 'no'],
      ['appendfsync', 'always'],
      ['daemonize', 'no'],
      ...(password === undefined ? [] : [['requirepass', password] as const]),
      ...config,
    ]
    this.#service = new Service({
      name: 'redis-server',
      command: redisProgram(),
      args: settings.flatMap(([name, value]) => [`--${name}`, value]),
      ...(options.env === undefined ? {} : { env: options.env }),
      ready: async () => (await this.command('PING')).startsWith('+PONG'),
    })
  }

  get url(): string {
    const credentials = this.password === undefined ? '' : `:${this.password}@`
    return `redis://${credentials}${this.host}:${this.port}`
  }

  get running(): boolean {
    return this.#service.running
  }

  /** @throws Error when it does not run. */
  get pid(): number {
    return this.#service.pid
  }

  async start(): Promise<void> {
    await this.#service.start()
  }

  /** Ends the process without notice; `start` brings it back, with what it had kept. */
  kill(): Promise<void> {
    return this.#service.crash()
  }

  /**
   * Removes what a killed server had kept: it returns empty, as a server without persistence does.
   */
  forget(): void {
    for (const name of readdirSync(this.folder)) {
      rmSync(join(this.folder, name), { recursive: true, force: true })
    }
  }

  /** Stops the process in its tracks, connections open, until `resume`. */
  pause(): void {
    this.#service.kill('SIGSTOP')
  }

  resume(): void {
    this.#service.kill('SIGCONT')
  }

  /** Ends the process and removes its folder. */
  async stop(): Promise<void> {
    await this.#service.crash()
    removeFolder(this.folder)
  }

  /**
   * Sends one command on a connection of its own, past every client library, and returns the raw
   * reply.
   */
  command(...args: readonly string[]): Promise<string> {
    const login = this.password === undefined ? [] : [['AUTH', this.password]]
    return converse(this.port, [...login, args])
  }

  /** Resolves to how many calls of known scripts it has had. */
  async scriptCalls(): Promise<number> {
    const stats = await this.command('INFO', 'commandstats')
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0)
  }
}

/** The system's Redis, or the newest Redis or Valkey. */
export function redisProgram(): string {
  if (usesNewest(NEWEST_VALKEY)) return newestPath(NEWEST_VALKEY, 'usr/bin/valkey-server')
  return usesNewest(NEWEST_REDIS)
    ? newestPath(NEWEST_REDIS, 'usr/bin/redis-server')
    : 'redis-server'
}

/** Starts a server on a free port. */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  for (let tries = 1; ; tries += 1) {
    const [port = 0] = await freePorts(1)
    const server = new RedisServer(port, options)
    try {
      await server.start()
      return server
    } catch (error) {
      await server.stop()
      // Another process may have taken the port in between.
      if (tries === 3) throw error
    }
  }
}

/** Sends commands one after the other, and returns the reply to the last. */
function converse(port: number, commands: readonly (readonly string[])[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1')
    let reply = ''
    socket.setTimeout(COMMAND_LIMIT_MS, () =>
      socket.destroy(new Error('no answer from redis-server')),
    )
    socket.on('connect', () => {
      // With QUIT at the end the server itself closes the connection, after the last reply.
      for (const args of [...commands, ['QUIT']]) socket.write(encode(args))
    })
    socket.on('data', (chunk) => (reply += chunk.toString()))
    socket.on('error', reject)
    socket.on('close', () => {
      const withoutQuit = reply.replace(/\+OK\r\n$/, '')
      resolve(commands.length > 1 ? withoutQuit.replace(/^[^\r]*\r\n/, '') : withoutQuit)
    })
  })
}

/** Sends one command to a Sentinel, which knows no QUIT, and returns the raw reply. */
export function askSentinel(port: number, ...args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1')
    const last = '+PONG\r\n'
    let reply = ''
    socket.setTimeout(COMMAND_LIMIT_MS, () =>
      socket.destroy(new Error('no answer from the Sentinel')),
    )
    socket.on('connect', () => void socket.write(encode(args) + encode(['PING'])))
    socket.on('data', (chunk) => {
      reply += chunk.toString()
      if (reply.endsWith(last) && reply.length > last.length) socket.end()
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(reply.slice(0, -last.length)))
  })
}

function encode(args: readonly string[]): string {
  return `*${args.length}\r\n${args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`).join('')}`
}
