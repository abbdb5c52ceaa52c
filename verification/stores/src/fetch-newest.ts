/**
 * `npm run servers:newest -- [SERVER …]`: fetches the newest servers of all stores, or those that
 * are named.
 */
import { fetchNewest } from '@holdfast/servers/fetch-newest'
import { NEWEST_SERVERS } from './newest.js'

const named = process.argv.slice(2)
const known = NEWEST_SERVERS.map(({ name }) => name)
const unknown = named.filter((name) => !known.includes(name))
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(', ')}. Choose among: ${known.join(', ')}.`)
  process.exit(64)
}
fetchNewest(NEWEST_SERVERS.filter(({ name }) => named.length === 0 || named.includes(name)))
