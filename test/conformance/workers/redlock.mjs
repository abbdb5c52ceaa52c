/** A worker that opens the Redlock store over the servers at the given URLs. */
import { serveWorker } from '@holdfast/conformance'
import { redlockStore } from 'holdfast/redlock'
import { openClient } from '@holdfast/servers/redis-clients'
import { mixed } from './redlock-libraries.mjs'

const clients = process.argv.slice(2).map((url, index) => openClient(mixed(index), url).client)
await serveWorker(() => redlockStore({ clients, nodeTimeoutMs: 2000 }))
