/** A subscription over HTTP: a stream of events that lasts until either side ends it. */
import type { SubscriberListener } from '../channel-connection.js'
import { RestRefusal, type RestEndpoint } from './endpoint.js'

/** No message of the store is as long. A longer one is not from it. */
const LONGEST_EVENT = 1_000_000

/** Subscribes once. */
export function listen(
  endpoint: RestEndpoint,
  channel: string,
  listener: SubscriberListener,
): { close(): void } {
  const abort = new AbortController()
  void read(endpoint, channel, listener, abort.signal).then(
    () => listener.ended(),
    (error: unknown) => listener.ended(error),
  )
  return { close: () => abort.abort() }
}

async function read(
  endpoint: RestEndpoint,
  channel: string,
  listener: SubscriberListener,
  signal: AbortSignal,
): Promise<void> {
  const reader = (await endpoint.subscribe(channel, signal)).getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    text += decoder.decode(value, { stream: true }).replaceAll('\r\n', '\n')
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    if (text.length > LONGEST_EVENT) throw new RestRefusal('ERR The stream of messages is broken')
    for (const event of events) take(event, channel, listener)
  }
}

/** Some servers put `data:` before each line of a message, others only before the first. */
function take(event: string, channel: string, listener: SubscriberListener): void {
  const data = event.replace(/^data: ?/gm, '')
  const message = `message,${channel},`
  if (data.startsWith(`subscribe,${channel},`)) {
    listener.connected()
    listener.subscribed()
  } else if (data.startsWith(message)) listener.message(data.slice(message.length))
}
