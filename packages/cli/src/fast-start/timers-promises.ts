/** The part of node:timers/promises that `holdfast run` uses, without the rest of that module. */

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    globalThis.setTimeout(resolve, ms)
  })
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => {
    globalThis.setImmediate(resolve)
  })
}

export { nextTick as setImmediate, wait as setTimeout }
