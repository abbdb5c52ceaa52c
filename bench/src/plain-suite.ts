/** A store without peers and bars: free locks on the service that its descriptor starts. */
import type { StoreDescriptor } from '@holdfast/stores/descriptor'
import { rate, type Row } from './report.js'
import { runRounds } from './rounds.js'
import { own } from './service-suite.js'
import { median } from './stats.js'
import type { BenchSuite, Progress } from './suite.js'

const WORKLOADS = [
  ['free lock, one at a time', 1],
  ['free locks, 64 in flight', 64],
] as const

export function plainSuite({ name, service }: StoreDescriptor): [string, BenchSuite] {
  const measure = async (rounds: number, progress: Progress): Promise<Row[]> => {
    const running = await service.start()
    try {
      const rows: Row[] = []
      for (const [title, loops] of WORKLOADS) {
        const workload = `${name}, ${title}`
        const subject = { name: 'holdfast', ...own(name, loops)(running.at.join()) }
        const results = await runRounds([subject], rounds, (text) =>
          progress(`${workload}: ${text}`),
        )
        const rates = results.get('holdfast')?.map(({ pairs = NaN }) => pairs) ?? []
        rows.push({
          workload,
          measured: rate(median(rates)),
          against: '',
          bar: '',
          reached: true,
          rounds: { holdfast: rates },
        })
      }
      return rows
    } finally {
      await running.remove()
    }
  }
  return [name, { measure }]
}
