/**
 * Connects a client of ioredis again that has ended.
 *
 * With `failoverDetector` a client of Sentinels ends for good when these announce another primary
 * while it asks them for the primary (ioredis 5.11, 6.0: `SentinelConnector.disconnect`).
 */
const PAUSE_MS = 100

/** As much of a client as is used. */
interface Reconnectable {
  on(event: 'end', listener: () => void): unknown
  connect(): Promise<unknown>
}

/** Keeps a client connecting until the returned function is called: only for one's own clients. */
export function keepOpen(client: Reconnectable): () => void {
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  const connect = (): void => {
    // A failure emits `end` again, or `error`.
    client.connect().catch(() => undefined)
  }
  client.on('end', () => {
    if (stopped) return
    clearTimeout(timer)
    timer = setTimeout(connect, PAUSE_MS).unref()
  })
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}
