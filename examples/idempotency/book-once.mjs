/**
 * Books a transfer once, with a unique key and without a lock: booking and key are in one database,
 * and one transaction has both. A crash leaves neither. A retry that comes meanwhile waits in
 * `insert` for that transaction to end.
 */

export const LEDGER = `
  create table if not exists bookings (
    id bigint generated always as identity primary key, account text not null, amount int not null);
  create table if not exists booked (key text primary key, booking bigint not null)`

/** Returns the id of the booking, that of an earlier request included. */
export async function bookOnce(pool, key, { account, amount }) {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const { rows } = await client.query(
      'insert into booked (key, booking) values ($1, 0) on conflict (key) do nothing returning key',
      [key],
    )
    if (rows.length > 0) {
      await client.query(
        `with made as (insert into bookings (account, amount) values ($2, $3) returning id)
         update booked set booking = made.id from made where key = $1`,
        [key, account, amount],
      )
    }
    await client.query('commit')
    const found = await client.query('select booking from booked where key = $1', [key])
    return found.rows[0].booking
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  } finally {
    client.release()
  }
}
