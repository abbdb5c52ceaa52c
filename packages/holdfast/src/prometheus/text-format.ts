/** Metrics in the text format of Prometheus. */
import type { Labels, MetricInfo } from './names.js'

/** The type of the format, for the header `Content-Type`. */
export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Returns a metric with its samples; nothing without samples. */
export function metricText(
  prefix: string,
  type: 'counter' | 'gauge' | 'histogram',
  info: MetricInfo,
  samples: (name: string) => Iterable<string>,
): string {
  const name = prefix + info.name
  const lines = [...samples(name)]
  if (lines.length === 0) return ''
  return [`# HELP ${name} ${info.help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n')
}

/** Returns one line. */
export function sample(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return `${name}{${pairs.join(',')}} ${value}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}

/** A number for each set of labels. */
export class LabelledCounter {
  readonly #values = new Map<string, { readonly labels: Labels; value: number }>()

  add(labels: Labels, amount: number): void {
    const key = JSON.stringify(labels)
    const found = this.#values.get(key)
    if (found) found.value += amount
    else this.#values.set(key, { labels, value: amount })
  }

  *samples(name: string): Generator<string> {
    for (const { labels, value } of this.#values.values()) yield sample(name, labels, value)
  }
}

/** Durations for each set of labels, counted by bucket. */
export class LabelledHistogram {
  readonly #bounds: readonly number[]
  readonly #series = new Map<string, { readonly labels: Labels; counts: number[]; sum: number }>()

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
  }

  observe(labels: Labels, seconds: number): void {
    const key = JSON.stringify(labels)
    let found = this.#series.get(key)
    if (!found) {
      found = { labels, counts: [...this.#bounds, Infinity].map(() => 0), sum: 0 }
      this.#series.set(key, found)
    }
    const bucket = this.#bounds.findIndex((bound) => seconds <= bound)
    const index = bucket < 0 ? this.#bounds.length : bucket
    found.counts[index] = (found.counts[index] ?? 0) + 1
    found.sum += seconds
  }

  *samples(name: string): Generator<string> {
    const bounds = [...this.#bounds.map(String), '+Inf']
    for (const { labels, counts, sum } of this.#series.values()) {
      let total = 0
      for (const [index, le] of bounds.entries()) {
        total += counts[index] ?? 0
        yield sample(`${name}_bucket`, { ...labels, le }, total)
      }
      yield sample(`${name}_sum`, labels, sum)
      yield sample(`${name}_count`, labels, total)
    }
  }
}
