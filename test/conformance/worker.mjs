/** A process of the conformance suite, over any store: `worker.mjs STORE LIBRARY PLACE …`. */
import { serveWorker } from '@holdfast/conformance'
import { loadModule, loadStore } from '@holdfast/stores/load'

const [name, library, ...at] = process.argv.slice(2)
const { service } = await loadStore(name)
const opened = await service.open(at, { library, load: loadModule, crowded: true })
await serveWorker(() => opened.store)
