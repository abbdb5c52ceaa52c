/**
 * `performance.now()` for `holdfast run`, without node:perf_hooks, which the global loads. Both
 * read the same clock; only their zero differs.
 */
const [startS, startNs] = process.hrtime()

export const performance = {
  now(): number {
    const [seconds, nanoseconds] = process.hrtime()
    return (seconds - startS) * 1000 + (nanoseconds - startNs) / 1e6
  },
}
