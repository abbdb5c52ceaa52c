/** A real Prometheus scrapes the example, and an alert fires when a lease is lost. */
import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '@holdfast/servers/eventually'
import { makeFolder, removeFolder } from '@holdfast/servers/folders'
import { freePorts } from '@holdfast/servers/ports'
import { startRedis } from '@holdfast/servers/redis'
import { Service } from '@holdfast/servers/service'
import { createLocks } from 'holdfast'
import { openStore } from 'holdfast/url'
import { expect, test } from 'vitest'
import { after } from '../../support/after.js'
import { Program } from '../programs.js'

const EXAMPLE = join(import.meta.dirname, '../../../examples/observability')
const SERVICE = 'examples/observability/service.mjs'
/** The variables of the dashboard, as Grafana fills them in. */
const VARIABLES = { $job: '.*', $__rate_interval: '1m' }

/** A Prometheus with the files of the example. */
class Prometheus {
  readonly #url: string

  private constructor(port: number) {
    this.#url = `http://127.0.0.1:${port}`
  }

  /** Starts one that scrapes this port until the test ends. */
  static async start(scrapedPort: number): Promise<Prometheus> {
    const folder = makeFolder('prometheus')
    after(() => removeFolder(folder))
    cpSync(EXAMPLE, folder, { recursive: true })
    const config = join(folder, 'prometheus.yml')
    const text = readFileSync(config, 'utf8')
    writeFileSync(config, text.replace('localhost:9464', `127.0.0.1:${scrapedPort}`))
    const [port = 0] = await freePorts(1)
    const prometheus = new Prometheus(port)
    const service = new Service({
      name: 'Prometheus',
      command: 'prometheus',
      args: [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      ready: async () => (await fetch(`http://127.0.0.1:${port}/-/ready`)).ok,
    })
    await service.start()
    after(() => service.stop())
    return prometheus
  }

  async #get(path: string): Promise<unknown> {
    const answer = (await (await fetch(`${this.#url}/api/v1/${path}`)).json()) as {
      readonly status: string
      readonly data: unknown
    }
    if (answer.status !== 'success') throw new Error(`${path}: ${JSON.stringify(answer)}`)
    return answer.data
  }

  /** Returns the series that an expression gives now. */
  async query(expression: string): Promise<readonly unknown[]> {
    const data = await this.#get(`query?query=${encodeURIComponent(expression)}`)
    return (data as { readonly result: readonly unknown[] }).result
  }

  /** Returns the labels of the alerts that fire. */
  async firing(): Promise<readonly Record<string, string>[]> {
    const { alerts } = (await this.#get('alerts')) as {
      readonly alerts: readonly {
        readonly state: string
        readonly labels: Record<string, string>
      }[]
    }
    return alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels)
  }
}

/** Returns the expressions of the dashboard. */
function expressions(): string[] {
  const text = readFileSync(join(EXAMPLE, 'dashboard.json'), 'utf8')
  const { panels } = JSON.parse(text) as {
    readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[]
  }
  return panels.flatMap(({ targets }) =>
    targets.map(({ expr }) =>
      Object.entries(VARIABLES).reduce((all, [name, value]) => all.replaceAll(name, value), expr),
    ),
  )
}

function isLoss({ alertname, reason }: Record<string, string>): boolean {
  return alertname === 'HoldfastLeaseLost' && reason === 'stolen'
}

test('the rules of the example raise the alerts that their tests expect', () => {
  const options = { cwd: EXAMPLE, encoding: 'utf8' } as const
  const said = execFileSync('promtool', ['test', 'rules', 'alerts.test.yml'], options)
  expect(said).toContain('SUCCESS')
})

test('an alert fires within 30 s of a lost lease, and each panel of the dashboard has data', async () => {
  const redis = await startRedis()
  after(() => redis.stop())
  const service = new Program(SERVICE, { HOLDFAST_STORE: redis.url })
  const prometheus = await Prometheus.start(await service.port())
  const losses = 'holdfast_lease_losses_total{reason="stolen",kind="mutex"}'
  await eventually(
    'Prometheus has scraped',
    async () => (await prometheus.query(losses)).length > 0,
  )
  expect(await prometheus.firing()).toEqual([])

  const locks = createLocks(await openStore(redis.url))
  after(() => locks.close())
  await locks.steal('scheduler', { reason: 'a test' })
  await eventually('the alert fires', async () => (await prometheus.firing()).some(isLoss), {
    withinMs: 30_000,
    everyMs: 100,
  })

  // Every renewal went well.
  const filled = expressions().filter((expression) => !expression.includes('!="renewed"'))
  expect(filled.length).toBeGreaterThan(7)
  for (const expression of filled)
    await eventually(
      `data for ${expression}`,
      async () => (await prometheus.query(expression)).length > 0,
    )
  expect(await service.end()).toBe(0)
})
