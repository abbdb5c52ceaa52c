/** Loaded before a program. Sends its parent by how much a timer of 1 ms came late at most. */
import { monitorEventLoopDelay } from 'node:perf_hooks'

const delays = monitorEventLoopDelay({ resolution: 1 })
delays.enable()
process.on('message', () => {
  process.send?.(delays.max / 1e6)
  delays.reset()
})
process.channel?.unref()
