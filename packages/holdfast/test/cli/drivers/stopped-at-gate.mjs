// `holdfast` with a process that stops itself once, when all is ready and the gate is not yet open:
// a SIGSTOP at the worst moment.
import { Guardian } from '../../../dist/cli/supervise/guardian.js'

const { watch } = Guardian.prototype
Guardian.prototype.watch = async function (target) {
  await watch.call(this, target)
  process.kill(process.pid, 'SIGSTOP')
}
const { start } = await import('../../../dist/cli/main.js')
await start(() => undefined)
