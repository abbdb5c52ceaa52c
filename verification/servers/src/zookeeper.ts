/** Private ZooKeeper servers: one alone, or three that form an ensemble. */
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Home } from './network.js'
import { newestPath, usesNewest, type NewestServer } from './newest.js'
import { makeFolder, makeFolderOf, removeFolder } from './folders.js'
import { freePorts } from './ports.js'
import { Service } from './service.js'
import { makeOnce } from './templates.js'

export const NEWEST_ZOOKEEPER: NewestServer = {
  name: 'zookeeper',
  packages: ['zookeeper'],
  versionOf: /^zookeeper_/,
}

/** The servers' `tickTime`, in milliseconds. */
export const TICK_MS = 500

/** Lines of zoo.cfg. */
type Config = Readonly<Record<string, string | number>>

export interface ZooKeeperOptions {
  /** How many servers. Default 1. */
  readonly servers?: number
  /** More lines of zoo.cfg. */
  readonly config?: Config
  /**
   * Where each server is at home, if the way between them is to be cut. Clients reach all of them
   * as ever.
   */
  readonly homes?: readonly Home[]
}

interface Ports {
  readonly client: number
  readonly peer: number
  readonly election: number
  readonly home: Home | undefined
}

export class ZooKeeperEnsemble {
  readonly members: readonly Service[]
  readonly ports: readonly number[]
  readonly #folder: string

  constructor(members: readonly Service[], ports: readonly number[], folder: string) {
    this.members = members
    this.ports = ports
    this.#folder = folder
  }

  /** What clients connect to. */
  get connect(): string {
    return this.ports.map((port) => `127.0.0.1:${port}`).join()
  }

  /** The number of the server that leads now. */
  async leader(): Promise<number> {
    for (const [index, port] of this.ports.entries()) {
      const answer = await ask(port, 'srvr').catch(() => '')
      if (/^Mode: (leader|standalone)$/m.test(answer)) return index
    }
    throw new Error('No server of the ZooKeeper ensemble says that it leads.')
  }

  /**
   * Returns how many transactions the ensemble has written to its log since the present leader was
   * elected.
   */
  async logEntries(): Promise<number> {
    const answer = await ask(this.ports[await this.leader()] as number, 'srvr')
    const zxid = BigInt(/^Zxid: (0x[0-9a-f]+)$/m.exec(answer)?.[1] ?? '0x0')
    return Number(zxid & 0xffff_ffffn)
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.crash()))
    removeFolder(this.#folder)
  }
}

/** Starts ZooKeeper on free ports. Stop it with `stop`. */
export async function startZooKeeper({
  servers = 1,
  config = {},
  homes = [],
}: ZooKeeperOptions = {}): Promise<ZooKeeperEnsemble> {
  const archive = await makeOnce('zookeeper.jsa', makeArchive)
  const shared = archive === undefined ? [] : [`-XX:SharedArchiveFile=${archive}`]
  const folder = makeFolder('zookeeper')
  const ports = await freePorts(servers * 3)
  const all = Array.from({ length: servers }, (_, index): Ports => {
    const [client = 0, peer = 0, election = 0] = ports.slice(index * 3)
    return { client, peer, election, home: homes[index] }
  })
  const services = all.map((_, index) => server(index, all, folder, config, shared))
  const ensemble = new ZooKeeperEnsemble(
    services,
    all.map(({ client }) => client),
    folder,
  )
  try {
    await Promise.all(services.map((service) => service.start()))
  } catch (error) {
    await ensemble.stop()
    throw error
  }
  return ensemble
}

/**
 * Archives the classes that a server loads for its start, as the JVM keeps them. With them a start
 * takes two thirds of the processor's time. JDK 13 or later can; another JVM leaves no file.
 */
async function makeArchive(file: string): Promise<void> {
  const folder = makeFolder('zookeeper')
  const [client = 0] = await freePorts(1)
  const all = [{ client, peer: 0, election: 0, home: undefined }]
  const options = ['-XX:+IgnoreUnrecognizedVMOptions', `-XX:ArchiveClassesAtExit=${file}`]
  const service = server(0, all, folder, {}, options)
  try {
    await service.start()
    await service.stop()
  } finally {
    await service.crash()
    removeFolder(folder)
  }
}

function server(
  index: number,
  all: readonly Ports[],
  parent: string,
  extra: Config,
  options: readonly string[],
): Service {
  const { client = 0, home } = all[index] ?? {}
  const folder = makeFolderOf(parent, `s${index + 1}`, home?.uid)
  const file = join(folder, 'zoo.cfg')
  const config = { ...ownConfig(folder, client), ...ensembleConfig(all), ...extra }
  writeFileSync(join(folder, 'myid'), String(index + 1))
  writeFileSync(file, linesOf(config))
  return new Service({
    name: `ZooKeeper ${index + 1}`,
    command: 'java',
    args: [
      '-Xmx256m',
      '-XX:+UseSerialGC',
      // Compiled in one step: most servers live for seconds.
      '-XX:TieredStopAtLevel=1',
      '-Dzookeeper.forceSync=no',
      '-Dzookeeper.extendedTypesEnabled=true',
      '-Dznode.container.checkIntervalMs=2000',
      ...options,
      '-cp',
      classPath(),
      'org.apache.zookeeper.server.quorum.QuorumPeerMain',
      file,
    ],
    ...(home ? { uid: home.uid } : {}),
    ready: async () => (await ask(client, 'srvr')).includes('Mode:'),
  })
}

function ownConfig(folder: string, clientPort: number): Config {
  return {
    tickTime: TICK_MS,
    minSessionTimeout: 1000,
    maxSessionTimeout: 60_000,
    dataDir: folder,
    clientPort,
    clientPortAddress: '127.0.0.1',
    'admin.enableServer': 'false',
    '4lw.commands.whitelist': '*',
    maxClientCnxns: 0,
  }
}

/** Where the servers find each other, if there are several. */
function ensembleConfig(all: readonly Ports[]): Config {
  if (all.length === 1) return {}
  const config: Record<string, string | number> = { initLimit: 20, syncLimit: 10 }
  for (const [index, { peer, election, home }] of all.entries()) {
    config[`server.${index + 1}`] = `${home?.host ?? '127.0.0.1'}:${peer}:${election}`
  }
  return config
}

function linesOf(config: Config): string {
  const lines = Object.entries(config).map(([key, value]) => `${key}=${value}\n`)
  return lines.join('')
}

const JARS = '/usr/share/java'
/**
 * What a server needs. The jar names its libraries by the system's paths, so that its own must come
 * before it.
 */
const LIBRARIES = ['zookeeper-jute', 'slf4j-api', 'metrics-core', 'snappy-java', 'zookeeper']

/** Of the system's ZooKeeper, or of the newest one. */
function classPath(): string {
  if (!usesNewest(NEWEST_ZOOKEEPER)) return `${JARS}/zookeeper.jar`
  return LIBRARIES.map((name) => newestPath(NEWEST_ZOOKEEPER, `${JARS}/${name}.jar`)).join(':')
}

/** Sends one of ZooKeeper's four-letter words, and reads the answer. */
export function ask(port: number, word: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.end(word))
    let answer = ''
    socket.setTimeout(1000, () => socket.destroy(new Error('ZooKeeper did not answer.')))
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => (answer += text))
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
  })
}
