import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { freePorts, listens } from '@holdfast/servers/ports'
import { Service } from '@holdfast/servers/service'

const open: Service[] = []

afterEach(async () => {
  for (const service of open.splice(0)) await service.stop()
})

/** A server in one line of Node, that ignores a wish to end when it is stubborn. */
async function listener(script = ''): Promise<{ service: Service; port: number }> {
  const [port = 0] = await freePorts(1)
  const code = `${script};require('node:net').createServer().listen(${port}, '127.0.0.1')`
  const service = new Service({
    name: 'a listener',
    command: process.execPath,
    args: ['-e', code],
    ready: () => listens(port),
  })
  open.push(service)
  return { service, port }
}

/** Four threads that compute without end. */
const BUSY_THREADS = `
  const { Worker } = require('node:worker_threads')
  for (let thread = 0; thread < 4; thread += 1) new Worker('for (;;);', { eval: true })`

/** The threads of a process that run or wait for a processor. */
function running(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).filter((thread) =>
    /\) R /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')),
  )
}

describe('a private server', () => {
  test('answers once it is started, is killed, starts again, and is stopped', async () => {
    const { service, port } = await listener()
    await service.start()
    const { pid } = service
    await service.crash()
    expect(await listens(port)).toBe(false)
    await service.start()
    expect(service.pid).not.toBe(pid)
    await service.stop()
    expect(await listens(port)).toBe(false)
  })

  test.skipIf(process.platform !== 'linux')(
    'ends with a process that is killed while it runs the server',
    async () => {
      const [port = 0] = await freePorts(1)
      const service = import.meta.resolve('@holdfast/servers/service')
      const ports = import.meta.resolve('@holdfast/servers/ports')
      const runner = spawn(
        process.execPath,
        [
          '--input-type=module',
          '--eval',
          `import { Service } from '${service}'
           import { listens } from '${ports}'
           const code = "require('node:net').createServer().listen(${port}, '127.0.0.1')"
           const server = new Service({
             name: 'a listener',
             command: process.execPath,
             args: ['-e', code],
             ready: () => listens(${port}),
           })
           await server.start()
           process.stdout.write('ready')`,
        ],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      )
      await once(runner.stdout, 'data')
      expect(await listens(port)).toBe(true)
      runner.kill('SIGKILL')
      await expect.poll(() => listens(port)).toBe(false)
    },
  )

  test('stops even while it is stalled', async () => {
    const { service } = await listener()
    await service.start()
    service.kill('SIGSTOP')
    await service.stop()
    expect(() => service.pid).toThrow('does not run')
  })

  test('computes nothing in any thread once it is paused', async () => {
    const { service } = await listener(BUSY_THREADS)
    await service.start()
    const others = Array.from({ length: 4 }, () => spawn(process.execPath, ['-e', 'for (;;);']))
    try {
      for (let round = 0; round < 5; round += 1) {
        await service.pause()
        expect(running(service.pid)).toEqual([])
        service.resume()
      }
    } finally {
      for (const other of others) other.kill('SIGKILL')
    }
  })

  test('that ends at once says why', async () => {
    const { service } = await listener(`console.error('no such option'); process.exit(1)`)
    await expect(service.start()).rejects.toThrow('no such option')
  })

  test('that cannot be started reports it', async () => {
    const service = new Service({
      name: 'nothing',
      command: '/no/such/server',
      args: [],
      ready: async () => false,
    })
    await expect(service.start()).rejects.toThrow(/ENOENT|No such file/)
  })
})

test('free ports differ', async () => {
  const ports = await freePorts(20)
  expect(new Set(ports).size).toBe(20)
})
