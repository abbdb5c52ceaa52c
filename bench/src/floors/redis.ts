/**
 * The floor on Redis: a key for each held lock, and the server's clock as the token. It keeps no
 * queue, no memory of withdrawals, and no token beyond a release. The requests of one tick travel
 * in one script call, like those of Holdfast.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis5'
import type { Locker } from '../locker.js'

const TTL_MS = 30_000
/** Like a call of Holdfast: the server works on it while the tick is still running. */
const LARGEST_BATCH = 32

interface Script {
  readonly source: string
  readonly sha: string
}

/** A connection to one server. Replies are numbers. */
export interface ScriptRunner {
  load(source: string): Promise<unknown>
  run(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown>
}

const TAKE = scriptOf(`
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', '${TTL_MS}') then return 0 end
local time = redis.call('TIME')
return time[1] * 1000000 + time[2]`)

const GIVE_BACK = scriptOf(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)

/** First the locks to give back, then those to take. All that are taken get one token. */
const BOTH = scriptOf(`
local call, given_back = redis.call, ARGV[1] + 0
for index = 1, given_back do
  local key = KEYS[index]
  if call('GET', key) == ARGV[index + 1] then call('DEL', key) end
end
for index = given_back + 1, #KEYS do
  if not call('SET', KEYS[index], ARGV[index + 1], 'NX', 'PX', '${TTL_MS}') then return 0 end
end
if given_back == #KEYS then return 1 end
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
  #given: LockRequest[] = []
  #taken: LockRequest[] = []

  constructor(runner: ScriptRunner) {
    this.#runner = runner
    const loads = [TAKE, GIVE_BACK, BOTH].map(({ source }) => runner.load(source))
    this.#loaded = Promise.all(loads).then(() => (this.#isLoaded = true))
  }

  /** Resolves to the token. */
  async take(name: string, id: string): Promise<number> {
    if (!this.#isLoaded) await this.#loaded
    const token = await this.#add(this.#taken, name, id)
    if (token === 0) throw new Error('A free lock was busy.')
    return token
  }

  giveBack(name: string, id: string): Promise<number> {
    return this.#add(this.#given, name, id)
  }

  #add(requests: LockRequest[], name: string, id: string): Promise<number> {
    return new Promise((resolve, reject) => {
      requests.push({ name, id, resolve, reject })
      const count = this.#given.length + this.#taken.length
      if (count === 1) process.nextTick(() => this.#send())
      else if (count === LARGEST_BATCH) this.#send()
    })
  }

  #send(): void {
    const [given, taken] = [this.#given, this.#taken]
    const [first] = given.length === 0 ? taken : given
    // A full batch has left before the end of its tick.
    if (first === undefined) return
    this.#given = []
    this.#taken = []
    if (given.length + taken.length === 1) {
      const { sha } = given.length === 1 ? GIVE_BACK : TAKE
      this.#runner
        .run(sha, [first.name], [first.id])
        .then((reply) => first.resolve(reply as number), first.reject)
      return
    }
    const all = [...given, ...taken]
    const args = [String(given.length), ...all.map(({ id }) => id)]
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
    await batches.take(name, id)
    return () => batches.giveBack(name, id)
  }
}

/** The floor of a `run` that does not await its release: that travels with the next attempt. */
export function redisRunFloor(runner: ScriptRunner): Locker {
  const batches = new FloorBatches(runner)
  return (name) => async () => {
    const id = nextId()
    await batches.take(name, id)
    return () => {
      void batches.giveBack(name, id)
      return Promise.resolve()
    }
  }
}

/**
 * The floor of Redlock: one round to take and one to give back, each of which ends at a majority.
 * A token that the client proposes ahead of the clocks counts where a majority's clocks are behind
 * it.
 */
export function redlockFloor(runners: readonly ScriptRunner[]): Locker {
  const nodes = runners.map((runner) => new FloorBatches(runner))
  return (name) => async () => {
    const id = nextId()
    await majorityOf(nodes.map((node) => node.take(name, id)))
    return () => majorityOf(nodes.map((node) => node.giveBack(name, id)))
  }
}

function majorityOf(answers: readonly Promise<unknown>[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let missing = Math.floor(answers.length / 2) + 1
    for (const answer of answers) {
      answer.then(() => {
        missing -= 1
        if (missing === 0) resolve()
      }, reject)
    }
  })
}

export function throughIoredis(client: Redis): ScriptRunner {
  return {
    load: (source) => client.script('LOAD', source),
    run: (sha, keys, args) => client.evalsha(sha, keys.length, ...keys, ...args),
  }
}
