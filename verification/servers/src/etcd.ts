/** Private etcd servers: one member, or three that form a cluster. */
import { mountDisk, resumeIn } from './disk.js'
import type { Home } from './network.js'
import { newestPath, usesNewest, type NewestServer } from './newest.js'
import { makeFolder, makeFolderOf, removeFolder } from './folders.js'
import { freePorts } from './ports.js'
import { Service } from './service.js'

export const NEWEST_ETCD: NewestServer = {
  name: 'etcd',
  packages: ['etcd-server'],
  versionOf: /^etcd-server_/,
}

export interface EtcdOptions {
  /** How many members. Default 1. */
  readonly members?: number
  /**
   * Run Debian's newest etcd (`npm run servers:newest -- etcd`). Default: as `HOLDFAST_NEWEST`
   * says.
   */
  readonly newest?: boolean
  /** Give each member a disk that can stall, which needs root. */
  readonly disks?: boolean
  /** More arguments for every member, such as `--quota-backend-bytes=100000`. */
  readonly args?: readonly string[]
  /**
   * Where each member is at home, if the way between them is to be cut. Clients reach all of them
   * as ever.
   */
  readonly homes?: readonly Home[]
}

/** Room for what etcd sets aside for its log, and for its database. */
const DISK_MB = 400

interface Ports {
  readonly name: string
  readonly client: number
  readonly peer: number
  readonly home: Home | undefined
}

export class EtcdCluster {
  readonly members: readonly Service[]
  /** Where clients connect, one address for each member. */
  readonly endpoints: readonly string[]
  /** The folder of each member. */
  readonly folders: readonly string[]
  readonly #folder: string

  constructor(
    members: readonly Service[],
    endpoints: readonly string[],
    folders: readonly string[],
    folder: string,
  ) {
    this.members = members
    this.endpoints = endpoints
    this.folders = folders
    this.#folder = folder
  }

  /** The number of the member that leads now. */
  async leader(): Promise<number> {
    for (const [index, endpoint] of this.endpoints.entries()) {
      const status = await statusOf(endpoint).catch(() => undefined)
      if (status && status.leader === status.header.member_id) return index
    }
    throw new Error('No member of the etcd cluster says that it leads.')
  }

  async stop(): Promise<void> {
    resumeIn(this.#folder)
    // A member that has lost its majority takes its time over a polite request to end.
    await Promise.all(this.members.map((member) => member.crash()))
    removeFolder(this.#folder)
  }
}

/** Starts etcd on free ports. Stop it with `stop`. */
export async function startEtcd({
  members = 1,
  newest = usesNewest(NEWEST_ETCD),
  disks = false,
  args = [],
  homes = [],
}: EtcdOptions = {}): Promise<EtcdCluster> {
  const command = newest ? newestPath(NEWEST_ETCD, 'usr/bin/etcd') : 'etcd'
  const folder = makeFolder('etcd')
  const ports = await freePorts(members * 2)
  const all = Array.from({ length: members }, (_, index): Ports => {
    const [client = 0, peer = 0] = ports.slice(index * 2)
    return { name: `s${index + 1}`, client, peer, home: homes[index] }
  })
  const folders = all.map(({ name, home }) => makeFolderOf(folder, name, home?.uid))
  const services = all.map((one, index) => {
    const data = folders[index] ?? ''
    if (disks) mountDisk(data, DISK_MB, one.home?.uid)
    return member(one, all, { command, data, args })
  })
  const endpoints = all.map(({ client }) => url(client))
  const cluster = new EtcdCluster(services, endpoints, folders, folder)
  try {
    // Together, since no member answers before a majority is there.
    await Promise.all(services.map((service) => service.start()))
  } catch (error) {
    await cluster.stop()
    throw error
  }
  return cluster
}

interface Program {
  readonly command: string
  readonly data: string
  readonly args: readonly string[]
}

function member(self: Ports, all: readonly Ports[], { command, data, args }: Program): Service {
  const urls = {
    'listen-client-urls': url(self.client),
    'advertise-client-urls': url(self.client),
    'listen-peer-urls': peerUrl(self),
    'initial-advertise-peer-urls': peerUrl(self),
    'initial-cluster': all.map((one) => `${one.name}=${peerUrl(one)}`).join(),
  }
  return new Service({
    name: `etcd ${self.name}`,
    command,
    args: [
      `--name=${self.name}`,
      `--data-dir=${data}`,
      ...Object.entries(urls).map(([key, value]) => `--${key}=${value}`),
      // A crash of a test machine may cost what the tests wrote.
      ...(process.env['HOLDFAST_ETCD_FSYNC'] === '1' ? [] : ['--unsafe-no-fsync']),
      ...args,
    ],
    ...(self.home ? { uid: self.home.uid } : {}),
    ready: () => isHealthy(self.client),
  })
}

function url(port: number, host = '127.0.0.1'): string {
  return `http://${host}:${port}`
}

function peerUrl({ peer, home }: Ports): string {
  return url(peer, home?.host)
}

async function isHealthy(port: number): Promise<boolean> {
  const response = await fetch(`${url(port)}/health`, { signal: AbortSignal.timeout(1000) })
  return ((await response.json()) as { health: string }).health === 'true'
}

interface Status {
  readonly leader: string
  readonly header: { readonly member_id: string }
}

async function statusOf(endpoint: string): Promise<Status> {
  const response = await fetch(`${endpoint}/v3/maintenance/status`, {
    method: 'POST',
    body: '{}',
    signal: AbortSignal.timeout(1000),
  })
  return (await response.json()) as Status
}
