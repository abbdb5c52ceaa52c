/** A batch on its way to the database. */
import { createHash } from 'node:crypto'
import type { Batch } from '../sql/connection/database.js'
import type { Done, Task, TimeLimit } from '../sql/connection/statements.js'
import { areRepeatable, areWrites, isRetake, type Answer, type Request } from '../sql/wire.js'
import type { Client, Departure } from './connection/port.js'
import type { CheckedStatement, PgStatement, Row } from './connection/pools.js'
import { isUnmigrated } from './errors.js'

/** What a batch is sent through. */
export interface BatchSender {
  readonly client: Client
  /** For rule/leave-read-only.sql. */
  readonly channel: string
  readonly texts: Texts
  /** Whether the database may have `apply_retake_v1`, which earlier schemas lack. */
  retakes: boolean
}

/** The statements for batches. */
interface Texts {
  /** One request. */
  readonly one: TwoTexts
  readonly any: TwoTexts
  /** A release, and the next attempt for its lock. */
  readonly retake: NamedText
}

/** A statement, and the same in a transaction of its own. */
interface TwoTexts {
  readonly plain: NamedText
  readonly checked: NamedText
}

interface NamedText {
  readonly name: string
  readonly text: string
}

type Values = readonly (string | null)[]

/** @param schema quoted, if needed */
export function textsOf(schema: string): Texts {
  return {
    one: {
      plain: named(`select ${schema}.apply_one_v1(${PARAMETERS_OF_ONE})::text as answers`),
      checked: named(
        `call ${schema}.apply_one_in_own_transaction_v1(${PARAMETERS_OF_ONE}, $13::text, answers => null)`,
      ),
    },
    any: {
      plain: named(`select ${schema}.apply_batch_v1($1::text::jsonb)::text as answers`),
      checked: named(
        `call ${schema}.apply_batch_in_own_transaction_v1($1::text, $2::text, answers => null)`,
      ),
    },
    retake: named(`select ${schema}.apply_retake_v1(${PARAMETERS_OF_RETAKE}) as answers`),
  }
}

/** Names a statement by its text, so that a name means the same on each connection. */
function named(text: string): NamedText {
  const digest = createHash('sha256').update(text).digest('hex')
  return { name: `holdfast_${digest.slice(0, 32)}`, text }
}

export class SentBatch implements Task<readonly Row[]>, Departure {
  readonly #sender: BatchSender
  readonly #batch: Batch
  #limit: TimeLimit | undefined
  #isRetake = false

  constructor(sender: BatchSender, batch: Batch) {
    this.#sender = sender
    this.#batch = batch
  }

  get repeatable(): boolean {
    return areRepeatable(this.#batch.requests)
  }

  get writes(): boolean {
    return areWrites(this.#batch.requests)
  }

  send(limit: TimeLimit, ended: Done<readonly Row[]>): void {
    this.#limit = limit
    const sender = this.#sender
    sender.client.tell(this, limit, (error, rows) => {
      if (error === undefined || !this.#isRetake || !isUnmigrated(error)) return ended(error, rows)
      sender.retakes = false
      this.send(limit, ended)
    })
  }

  leave(send: (statement: PgStatement) => void): void {
    this.#batch.leave(() => send(this.#statement()))
  }

  /** Routines that do not answer are of another version: `Batches` says what to do. */
  resolve([row]: readonly Row[]): void {
    this.#batch.answer((JSON.parse(row?.['answers'] as string) ?? []) as Answer[])
  }

  reject(error: unknown): void {
    this.#batch.fail(error)
  }

  unheard(): void {
    this.#batch.unheard()
  }

  #statement(): PgStatement {
    const { requests } = this.#batch
    const { texts, channel, retakes } = this.#sender
    const leaves = this.#limit?.isMovable === true ? channel : null
    const [first, second] = requests
    this.#isRetake = retakes && isRetake(requests)
    if (first && requests.length === 1 && isShort(first))
      return new ApplyStatement(texts.one.plain, parametersOf(first), texts.one, leaves)
    const list = [JSON.stringify(requests)]
    if (first && second && this.#isRetake)
      return new ApplyStatement(texts.retake, retakeOf(first, second), texts.any, leaves, list)
    return new ApplyStatement(texts.any.plain, list, texts.any, leaves)
  }
}

/** Applies requests. A class, since copies of a statement are a part of what a request costs. */
class ApplyStatement implements PgStatement {
  readonly name: string
  readonly text: string
  readonly values: (string | null)[]
  readonly #checked: NamedText
  readonly #checkedValues: Values
  readonly #leaves: string | null

  /** @param leaves the channel for rule/leave-read-only.sql, if the statement may be moved */
  constructor(
    { name, text }: NamedText,
    values: (string | null)[],
    { checked }: TwoTexts,
    leaves: string | null,
    checkedValues: Values = values,
  ) {
    this.name = name
    this.text = text
    this.values = values
    this.#checked = checked
    this.#checkedValues = checkedValues
    this.#leaves = leaves
  }

  checked(): CheckedStatement {
    const values = [...this.#checkedValues, this.#leaves]
    return { ...this.#checked, values, empty: () => void values.fill(null, 0, -1) }
  }
}

/** What `apply_one_v1` serves, at best without `apply_batch_v1`. */
const SHORT_VERBS: ReadonlySet<string> = new Set<Request['verb']>(['attempt', 'renew', 'withdraw'])

function isShort({ verb, keepsEnd }: Request): boolean {
  return SHORT_VERBS.has(verb) && keepsEnd !== true
}

/** As text, since `postgres` would write numbers by the types of the instance. */
const PARAMETERS_OF_ONE =
  '$1::text, $2::text, $3::text, $4::text, $5::text, $6::text::integer, $7::text::integer, ' +
  '$8::text::integer, $9::text::double precision, $10::text::boolean, ' +
  '$11::text::double precision, $12::text'

const PARAMETERS_OF_RETAKE =
  '$1::text, $2::text, $3::text::double precision, $4::text, $5::text, $6::text, ' +
  '$7::text::integer, $8::text::integer, $9::text::integer, $10::text::double precision, ' +
  '$11::text::boolean, $12::text::double precision, $13::text'

/** The parameters of `apply_one_v1`, in their order. */
function parametersOf(request: Request): (string | null)[] {
  const { verb, lock, id, owner, kind, capacity, weight, tokens, ttlMs, enqueue } = request
  return [
    verb,
    lock,
    textOf(id),
    textOf(owner),
    textOf(kind),
    textOf(capacity),
    textOf(weight),
    textOf(tokens),
    textOf(ttlMs),
    textOf(enqueue),
    textOf(request['heartbeatMs']),
    textOf(request['channel']),
  ]
}

/** The parameters of `apply_retake_v1`, in their order. */
function retakeOf(release: Request, attempt: Request): (string | null)[] {
  const [, lock, id, owner, kind, ...terms] = parametersOf(attempt)
  const released = [textOf(release['id']), textOf(release['ttlMs'])]
  return [lock ?? null, ...released, id ?? null, owner ?? null, kind ?? null, ...terms]
}

function textOf(value: Request[string]): string | null {
  return value === undefined ? null : String(value)
}
