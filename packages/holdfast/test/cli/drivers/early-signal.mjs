// Preloaded before `holdfast`: sends a signal in the tick in which this process listens for it for
// the nth time.
const [name, nth] = process.env.HOLDFAST_TEST_SIGNAL.split(' ')
const { on } = process
let left = Number(nth)
process.on = function (event, listener) {
  on.call(this, event, listener)
  if (event === name && --left === 0) process.kill(process.pid, name)
  return this
}
