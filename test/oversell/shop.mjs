// One sale, as a shop does it: what is left is read, and written back with one less. Only a
// lock that covers all of it protects the stock.

/**
 * Sells one item to a buyer, in a transaction. Resolves to whether there was one.
 * @param query runs a statement in the transaction and resolves to its rows
 * @param onRead called when what is left has been read
 */
export async function sell(query, buyer, onRead) {
  const [{ stock }] = await query('select stock from items where id = 1')
  onRead()
  if (Number(stock) === 0) return false
  await query(`insert into orders (buyer) values (${buyer})`)
  await query(`update items set stock = ${Number(stock) - 1} where id = 1`)
  return true
}
