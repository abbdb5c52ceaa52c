/**
 * Takes payments: `STORE=redis://localhost PROVIDER=https://provider.example node server.mjs`. With
 * `PROVIDER_TAKES_KEYS=no` the provider charges for each request that it gets.
 */
import { paymentsApp } from './app.mjs'
import { httpProvider } from './provider.mjs'
import { openServices } from './services.mjs'

const { STORE, PROVIDER, PROVIDER_TAKES_KEYS, PORT = '3000' } = process.env
const { store, outcomes, end } = await openServices(STORE)
const provider = httpProvider(PROVIDER, { takesKeys: PROVIDER_TAKES_KEYS !== 'no' })
const app = await paymentsApp({ store, outcomes, provider })

const address = await app.listen({ port: Number(PORT) })
console.log(`listening on ${new URL(address).port}`)

process.once('SIGTERM', () => void app.close().then(end))
