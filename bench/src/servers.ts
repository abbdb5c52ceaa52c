/** Servers for the benchmarks, from Debian's packages: on free ports, with their files in a temporary folder. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Server {
  /** As clients want it. */
  readonly address: string
  stop(): Promise<void>
}

const READY_MS = 20_000

export async function startEtcd(): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-etcd-'))
  const [client, peer] = [await freePort(), await freePort()]
  const child = spawn(
    'etcd',
    [
      `--data-dir=${folder}`,
      `--listen-client-urls=${url(client)}`,
      `--advertise-client-urls=${url(client)}`,
      `--listen-peer-urls=${url(peer)}`,
      `--initial-advertise-peer-urls=${url(peer)}`,
      `--initial-cluster=default=${url(peer)}`,
      // What is compared is the protocol, not the disk.
      '--unsafe-no-fsync',
    ],
    { stdio: 'ignore' },
  )
  return running(child, client, url(client), folder)
}

function url(port: number): string {
  return `http://127.0.0.1:${port}`
}

export async function startZooKeeper(): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-zookeeper-'))
  const port = await freePort()
  mkdirSync(join(folder, 'data'))
  const config = {
    tickTime: 500,
    minSessionTimeout: 1000,
    maxSessionTimeout: 60_000,
    dataDir: join(folder, 'data'),
    clientPort: port,
    clientPortAddress: '127.0.0.1',
    'admin.enableServer': 'false',
    maxClientCnxns: 0,
  }
  const file = join(folder, 'zoo.cfg')
  const lines = Object.entries(config).map(([key, value]) => `${key}=${value}\n`)
  writeFileSync(file, lines.join(''))
  const child = spawn(
    'java',
    [
      '-Xmx512m',
      '-XX:+UseSerialGC',
      '-Dzookeeper.forceSync=no',
      '-Dzookeeper.extendedTypesEnabled=true',
      '-cp',
      '/usr/share/java/zookeeper.jar',
      'org.apache.zookeeper.server.quorum.QuorumPeerMain',
      file,
    ],
    { stdio: 'ignore' },
  )
  return running(child, port, `127.0.0.1:${port}`, folder)
}

/** Waits until a server listens. `signal` is what ends it. */
export async function running(
  child: ChildProcess,
  port: number,
  address: string,
  folder: string,
  signal: NodeJS.Signals = 'SIGKILL',
): Promise<Server> {
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  const stop = async (): Promise<void> => {
    child.kill(signal)
    await exited
    rmSync(folder, { recursive: true, force: true })
  }
  const endMs = performance.now() + READY_MS
  while (!(await listens(port))) {
    if (performance.now() > endMs || child.exitCode !== null) {
      await stop()
      throw new Error(`The server on port ${port} did not start.`)
    }
    await sleep(50)
  }
  // It listens a moment before it serves.
  await sleep(1000)
  return { address, stop }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address ? address.port : 0
      server.close(() => resolve(port))
    })
  })
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
