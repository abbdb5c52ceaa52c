/**
 * The floor on Redis: a key for each held lock, and the server's clock as the token. It keeps no
 * queue, no memory of withdrawals, and no token beyond a release. The requests of one tick travel
 * in one script call, like those of Holdfast.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis5'
import type { Locker } from '../locker.js'

const TTL_MS = 30_000
/** Like the calls of Holdfast: the server works on the first one while the tick still runs. */
const LARGEST_BATCH = { first: 16, later: 128 }

interface Script {
  readonly source: string
  readonly sha: string
}

/** A connection to one server. Replies are numbers. */
export interface ScriptRunner {
  load(source: string): Promise<unknown>
  run(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown>
}

const ACQUIRE = scriptOf(`
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', '${TTL_MS}') then return 0 end
local time = redis.call('TIME')
return time[1] * 1000000 + time[2]`)

const RELEASE = scriptOf(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)

/** Releases first, since they make room. All locks that a call acquires get one token. */
const BOTH = scriptOf(`
local call, released = redis.call, ARGV[1] + 0
for index = 1, released do
  local key = KEYS[index]
  if call('GET', key) == ARGV[index + 1] then call('DEL', key) end
end
for index = released + 1, #KEYS do
  if not call('SET', KEYS[index], ARGV[index + 1], 'NX', 'PX', '${TTL_MS}') then return 0 end
end
if released == #KEYS then return 1 end
local time = call('TIME')
return time[1] * 1000000 + time[2]`)

function scriptOf(source: string): Script {
  return { source, sha: createHash('sha1').update(source).digest('hex') }
}

interface LockRequest {
  readonly name: string
  readonly id: string
  readonly resolve: (reply: number) => void
  readonly reject: (error: unknown) => void
}

/** Sends what is asked for in one tick. */
export class FloorBatches {
  readonly #runner: ScriptRunner
  readonly #loaded: Promise<unknown>
  #isLoaded = false
  /** Whether a call of this tick has left. */
  #hasLeft = false
  #releases: LockRequest[] = []
  #attempts: LockRequest[] = []

  constructor(runner: ScriptRunner) {
    this.#runner = runner
    const loads = [ACQUIRE, RELEASE, BOTH].map(({ source }) => runner.load(source))
    this.#loaded = Promise.all(loads).then(() => (this.#isLoaded = true))
  }

  /** Resolves to the token. */
  async acquire(name: string, id: string): Promise<number> {
    if (!this.#isLoaded) await this.#loaded
    const token = await this.#add(this.#attempts, name, id)
    if (token === 0) throw new Error('A free lock was busy.')
    return token
  }

  release(name: string, id: string): Promise<number> {
    return this.#add(this.#releases, name, id)
  }

  #add(requests: LockRequest[], name: string, id: string): Promise<number> {
    return new Promise((resolve, reject) => {
      requests.push({ name, id, resolve, reject })
      const count = this.#releases.length + this.#attempts.length
      if (count === 1) process.nextTick(() => this.#send(false))
      else if (count === LARGEST_BATCH[this.#hasLeft ? 'later' : 'first']) this.#send(true)
    })
  }

  #send(isTickOpen: boolean): void {
    this.#hasLeft = isTickOpen
    const [releases, attempts] = [this.#releases, this.#attempts]
    const [first] = releases.length === 0 ? attempts : releases
    // A full batch has left before the end of its tick.
    if (first === undefined) return
    this.#releases = []
    this.#attempts = []
    if (releases.length + attempts.length === 1) {
      const { sha } = releases.length === 1 ? RELEASE : ACQUIRE
      this.#runner
        .run(sha, [first.name], [first.id])
        .then((reply) => first.resolve(reply as number), first.reject)
      return
    }
    const all = [...releases, ...attempts]
    const args = [String(releases.length), ...all.map(({ id }) => id)]
    const keys = all.map(({ name }) => name)
    this.#runner.run(BOTH.sha, keys, args).then(
      (reply) => {
        for (const { resolve } of all) resolve(reply as number)
      },
      (error: unknown) => {
        for (const { reject } of all) reject(error)
      },
    )
  }
}

const PROCESS = randomBytes(12).toString('base64url')
let ids = 0

function nextId(): string {
  ids += 1
  return `${PROCESS}.${ids}`
}

export function redisFloor(runner: ScriptRunner): Locker {
  const batches = new FloorBatches(runner)
  return (name) => async () => {
    const id = nextId()
    await batches.acquire(name, id)
    return () => batches.release(name, id)
  }
}

/** The floor of a `run` that does not await its release: that travels with the next attempt. */
export function redisRunFloor(runner: ScriptRunner): Locker {
  const batches = new FloorBatches(runner)
  return (name) => async () => {
    const id = nextId()
    await batches.acquire(name, id)
    return () => {
      void batches.release(name, id)
      return Promise.resolve()
    }
  }
}

/**
 * The floor of Redlock: a round to acquire and one to release, each of which ends at a majority.
 * A token that the client proposes ahead of the clocks counts where a majority's clocks are behind
 * it.
 */
export function redlockFloor(runners: readonly ScriptRunner[]): Locker {
  const nodes = runners.map((runner) => new FloorBatches(runner))
  return (name) => async () => {
    const id = nextId()
    await majorityOf(nodes.map((node) => node.acquire(name, id)))
    return () => majorityOf(nodes.map((node) => node.release(name, id)))
  }
}

function majorityOf(answers: readonly Promise<unknown>[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const most = Math.floor(answers.length / 2)
    let [missing, failed] = [most + 1, 0]
    for (const answer of answers) {
      answer.then(
        () => {
          missing -= 1
          if (missing === 0) resolve()
        },
        (error: unknown) => {
          failed += 1
          // One that has not released yet does not decide.
          if (failed > answers.length - most - 1) reject(error)
        },
      )
    }
  })
}

export function throughIoredis(client: Redis): ScriptRunner {
  return {
    load: (source) => client.script('LOAD', source),
    run: (sha, keys, args) => client.evalsha(sha, keys.length, ...keys, ...args),
  }
}
