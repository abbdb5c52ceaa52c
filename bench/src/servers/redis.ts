/** A redis-server of the benchmark's own, on a free loopback port, with nothing persisted. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const READY = 'Ready to accept connections'

/** Runs `use` with the port of a server that is there for that long. */
export async function withRedis<T>(use: (port: number) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-redis-'))
  const port = await freePort()
  const settings = { port, bind: '127.0.0.1', dir: folder, save: '', appendonly: 'no' }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const server = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const gone = once(server, 'exit')
  try {
    await Promise.race([
      new Promise<void>((resolve, reject) => {
        server.on('error', reject)
        server.stdout.on('data', (chunk: Buffer) => {
          if (chunk.toString().includes(READY)) resolve()
        })
      }),
      gone.then(() => Promise.reject(new Error('redis-server ended before it was ready'))),
    ])
    return await use(port)
  } finally {
    server.kill('SIGKILL')
    await gone
    rmSync(folder, { recursive: true, force: true })
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
