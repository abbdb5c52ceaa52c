/**
 * The store of a worker, which reports when it is connected, and prints the answer to each renewal.
 * Its renewals may be late: they leave for the server some time after the worker has sent them.
 */
import { writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { BroadcastChannel } from 'node:worker_threads'
import { openStore } from 'holdfast/url'

export default async function notedStore() {
  const { searchParams } = new URL(import.meta.url)
  const store = await openStore(searchParams.get('store'))
  const renew = store.renew.bind(store)
  store.renew = async (renewals) => {
    await pause(Number(searchParams.get('lateMs')))
    const results = await renew(renewals)
    // At once: what a thread writes by `process.stdout` passes through the main thread.
    for (const { outcome } of results)
      writeSync(1, `${JSON.stringify({ step: 'renewed-late', outcome })}\n`)
    return results
  }
  await store.inspect(['warm'])
  const channel = new BroadcastChannel('worker')
  const { postMessage } = channel
  postMessage.call(channel, 'connected')
  channel.close()
  return store
}
