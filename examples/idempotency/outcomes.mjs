/**
 * Where payments and their outcomes are kept. `begin` makes a payment known by its key, once, and
 * returns what is known of it. `finish` adds the outcome.
 */

/** Two servers that start at one time must not both make the table. */
const TABLE = `select pg_advisory_xact_lock(hashtext('payments'));
  create table if not exists payments (
  key text primary key, payment text not null, outcome jsonb, begun timestamptz not null default now())`

export async function postgresOutcomes(pool) {
  await pool.query(TABLE)
  return {
    async begin(key, payment) {
      const { rowCount } = await pool.query(
        'insert into payments (key, payment) values ($1, $2) on conflict (key) do nothing',
        [key, payment],
      )
      const { rows } = await pool.query('select payment, outcome from payments where key = $1', [
        key,
      ])
      return { ...rows[0], isNew: rowCount === 1 }
    },
    async finish(key, outcome) {
      await pool.query('update payments set outcome = $2 where key = $1', [
        key,
        JSON.stringify(outcome),
      ])
    },
  }
}

/** How long Redis keeps a payment: longer than any client sends it again. */
const KEPT_MS = 7 * 24 * 60 * 60 * 1000

function nameOf(key) {
  return `payment-outcome:${key}`
}

/** A Redis that loses its keys, in a failover or a restart, forgets that a payment was charged. */
export function redisOutcomes(client) {
  return {
    async begin(key, payment) {
      const fields = JSON.stringify({ payment })
      const isNew = (await client.set(nameOf(key), fields, 'PX', KEPT_MS, 'NX')) === 'OK'
      return { ...JSON.parse(await client.get(nameOf(key))), isNew }
    },
    async finish(key, outcome) {
      const { payment } = JSON.parse(await client.get(nameOf(key)))
      await client.set(nameOf(key), JSON.stringify({ payment, outcome }), 'PX', KEPT_MS)
    },
  }
}
