/** A route handler of Next: orders that are paid one request at a time. */
import { locks } from '../../../../locks.mjs'
import { pay } from '../../../../pay.mjs'
import { withLock } from '../../../../with-lock.mjs'

export async function POST(request, { params }) {
  const { id } = await params
  return withLock(locks.mutex(`order:${id}`), request, async ({ lease, signal }) => {
    await pay(id, { signal, token: lease.token })
    return Response.json({ paid: true })
  })
}
