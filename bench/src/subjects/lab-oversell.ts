/**
 * The shop of the lab under one strategy: `lab-oversell.js STRATEGY ITEMS`. Prints orders a second.
 */
import { Oversell, Visit } from '../../../packages/lab/dist/index.js'

const [strategy = '', items = ''] = process.argv.slice(2)
const visit = new Visit((name) => name === 'postgres')
try {
  const settings = { buyers: Number(items) * 2, processes: 8, segments: 16, thinkMs: 10 }
  const shop = new Oversell(
    { ...settings, items: Number(items), strategies: [strategy] },
    visit.services,
  )
  visit.keep(() => shop.end())
  const { rows } = await shop.run({ began: () => {}, sold: () => {} })
  const row = rows[0]
  if (row === undefined)
    throw new Error(`${strategy} needs a PostgreSQL server: apt-get install postgresql`)
  if (row.damaged || row.sold !== Number(items))
    throw new Error(`${strategy} sold ${row.sold} of ${items}`)
  console.log(JSON.stringify({ orders: row.ordersPerSecond, p99Ms: row.p99Ms }))
} finally {
  await visit.end()
}
