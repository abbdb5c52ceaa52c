/**
 * Loaded before a program. Measures at a message of its parent, and at the next one sends by how
 * much a timer of 1 ms came late at most. The timer itself takes some percent of a core.
 */
import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks'

let delays: IntervalHistogram | undefined
process.on('message', () => {
  if (delays === undefined) {
    delays = monitorEventLoopDelay({ resolution: 1 })
    delays.enable()
    process.send?.('begun')
    return
  }
  delays.disable()
  process.send?.(delays.max / 1e6)
  delays = undefined
})
process.channel?.unref()
