/** Calls the route handler of the Next recipe as Next does. */
import { serve } from '@hono/node-server'
import { POST } from '../../../examples/http/app/orders/[id]/pay/route.js'

const fetch = (request) => {
  const id = new URL(request.url).pathname.split('/')[2]
  return POST(request, { params: Promise.resolve({ id }) })
}
serve({ fetch, port: 0 }, ({ port }) => console.log(`listening on ${port}`))
process.once('SIGTERM', () => process.exit())
