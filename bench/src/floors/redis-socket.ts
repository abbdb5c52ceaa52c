/** Script calls over a bare socket: what the client library adds to the floor on Redis. */
import { connect } from 'node:net'
import type { ScriptRunner } from './redis.js'

const LINE_END = '\r\n'

interface Waiting {
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Writes each call at once, and reads numbers, texts and errors. */
export function throughSocket(port: number): ScriptRunner {
  const socket = connect(port, '127.0.0.1')
  socket.setNoDelay(true).setEncoding('latin1')
  const waiting: Waiting[] = []
  let first = 0
  let rest = ''
  const settle = (line: string, text: string | undefined): void => {
    const { resolve, reject } = waiting[first] as Waiting
    first += 1
    if (first === waiting.length) {
      waiting.length = 0
      first = 0
    }
    if (line.startsWith('-')) reject(new Error(line.slice(1)))
    else resolve(text ?? Number(line.slice(1)))
  }
  socket.on('data', (chunk: string) => {
    const lines = (rest + chunk).split(LINE_END)
    rest = lines.pop() ?? ''
    for (let at = 0; at < lines.length; at += 1) {
      const line = lines[at] as string
      const isText = line.startsWith('$')
      // Its second line has not arrived.
      if (isText && at + 1 === lines.length) {
        rest = line + LINE_END + rest
        return
      }
      settle(line, isText ? lines[++at] : undefined)
    }
  })
  const ask = (words: readonly string[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      waiting.push({ resolve, reject })
      let message = `*${words.length}${LINE_END}`
      for (const word of words) message += `$${word.length}${LINE_END}${word}${LINE_END}`
      socket.write(message, 'latin1')
    })
  return {
    load: (source) => ask(['SCRIPT', 'LOAD', source]),
    run: (sha, keys, args) => ask(['EVALSHA', sha, String(keys.length), ...keys, ...args]),
  }
}
