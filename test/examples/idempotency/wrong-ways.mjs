/** What does not charge once: the server of the example, with `WAY` instead of `payOnce`. */
import { paymentsApp } from '../../../examples/idempotency/app.mjs'
import { httpProvider } from '../../../examples/idempotency/provider.mjs'
import { openServices } from '../../../examples/idempotency/services.mjs'

const WAYS = {
  /** A lock excludes requests of one time. It knows nothing of those before. */
  'lock alone': ({ provider }, key, payment) => provider.charge(payment, key),
  /** A begun payment without an outcome is charged as if it were new. */
  async 'lock and outcome'({ outcomes, provider }, key, payment) {
    const { outcome } = await outcomes.begin(key, payment)
    if (outcome) return { ...outcome, isReplay: true }
    const charged = await provider.charge(payment, key)
    await outcomes.finish(key, charged)
    return charged
  },
}

const { STORE, PROVIDER, WAY } = process.env
const { store, outcomes } = await openServices(STORE)
const provider = httpProvider(PROVIDER, { takesKeys: true })
const app = await paymentsApp({ store, outcomes, provider, pay: WAYS[WAY] })
const address = await app.listen({ port: 0 })
console.log(`listening on ${new URL(address).port}`)
