/**
 * Seconds to judge a history of HOLDS holds, once it is in memory: `check.js
 * mutex|readers|all|read HOLDS`.
 *
 * `mutex` and `readers` judge exclusion and tokens, `all` every promise, and `read` reads the lines
 * of JSON.
 */
import {
  checkHistory,
  formatEvent,
  readHistory,
  type HistoryEvent,
  type Promised,
} from '@holdfast/conformance'

const [subject = 'mutex', holdsText = '1000000'] = process.argv.slice(2)
const holds = Number(holdsText)

/** A machine that has been up for half a year: nanoseconds beyond 2^53. */
const BOOT_NS = 15_768_000_000_000_000n
const PROCESSES = 8
const CLIENTS = 16
const READERS = 6

const actors = Array.from({ length: PROCESSES * CLIENTS }, (_, at) => ({
  pid: 1 + (at % PROCESSES),
  client: `c${Math.floor(at / PROCESSES)}`,
  key: 'bench',
}))

/**
 * Grants that begin every 8 ns and last as long, or six times as long side by side, for readers.
 */
function* history(readers: boolean): Generator<HistoryEvent> {
  const capacity = readers ? READERS : 1
  const ends: HistoryEvent[][] = []
  for (let at = 0; at < holds; at += 1) {
    const actor = actors[at % actors.length] as (typeof actors)[number]
    const claim = `claim-${at}`
    const token = 1_795_235_854_224_101n + BigInt(at)
    const t = (offset: number): bigint => BOOT_NS + BigInt(8 * at + offset)
    if (ends.length === capacity) yield* ends.shift() as HistoryEvent[]
    yield { t_ns: t(1), ...actor, f: 'acquire', type: 'invoke' }
    yield { t_ns: t(2), ...actor, f: 'enqueued', type: 'info' }
    const deadline_ns = t(1_000_000)
    yield {
      t_ns: t(3),
      ...actor,
      f: 'acquire',
      type: 'ok',
      weight: 1,
      capacity,
      claim,
      token,
      deadline_ns,
    }
    const end = 8 * capacity - 8
    const its: HistoryEvent[] = [
      { t_ns: t(end + 6), ...actor, f: 'release', type: 'invoke' },
      { t_ns: t(end + 8), ...actor, f: 'release', type: 'ok' },
    ]
    ends.push(its)
    if (subject !== 'all') continue
    const times = { start_ns: t(2), end_ns: t(end + 7) }
    const truth = { f: 'truth', type: 'info', owner: claim, token, ...times } as const
    its.push({ t_ns: t(end + 8), pid: 0, client: 'server', key: 'bench', ...truth })
  }
  for (const rest of ends) yield* rest
}

const EVERYTHING: Promised = {
  held: true,
  truth: true,
  release: true,
  fifo: true,
  liveness: { healedNs: BOOT_NS, boundNs: 1_000_000_000n },
  counter: true,
}

async function* lines(): AsyncGenerator<string> {
  let text = ''
  for (const event of history(false)) {
    text += `${formatEvent(event)}\n`
    if (text.length < 65_536) continue
    yield text
    text = ''
  }
  yield text
}

/** Writing costs time as well, so it is done before the time is taken. */
async function read(): Promise<number> {
  const pieces: Buffer[] = []
  for await (const piece of lines()) pieces.push(Buffer.from(piece))
  const startMs = performance.now()
  const events = await readHistory(
    (async function* () {
      yield* pieces
    })(),
  )
  if (events.length !== 5 * holds)
    throw new Error(`${events.length} events were read of ${5 * holds}.`)
  return performance.now() - startMs
}

function check(): number {
  const events: HistoryEvent[] = []
  for (const event of history(subject === 'readers')) events.push(event)
  const promised = subject === 'all' ? EVERYTHING : {}
  const startMs = performance.now()
  const violations = checkHistory(events, { promised })
  if (violations.length > 0)
    throw new Error(`The benchmark's history is at fault: ${violations[0]?.message}`)
  return performance.now() - startMs
}

const tookMs = subject === 'read' ? await read() : check()
console.log(JSON.stringify({ seconds: tookMs / 1000 }))
