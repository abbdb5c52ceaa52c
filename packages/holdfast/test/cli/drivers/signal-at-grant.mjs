// Preloaded before `holdfast`: when it is granted a lock, the server stops answering until this
// process has seen a SIGTERM.
import { subscribe } from 'node:diagnostics_channel'

const server = Number(process.env.HOLDFAST_TEST_SERVER)
subscribe('holdfast:granted', () => {
  process.kill(server, 'SIGSTOP')
  process.once('SIGTERM', () => process.kill(server, 'SIGCONT'))
  process.kill(process.pid, 'SIGTERM')
})
