/** Numbers as people read them. */

/** The value below which a share of all values lies; 0 for none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

export function milliseconds(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(0)} s`
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`
  return ms >= 10 ? `${ms.toFixed(0)} ms` : `${ms.toFixed(1)} ms`
}

export function perSecond(rate: number): string {
  return rate >= 100 ? rate.toFixed(0) : rate.toFixed(1)
}
