/** The memory of one process. */
import { USUAL, type StoreDescriptor } from '../descriptor.js'
import { withoutServer } from '../service.js'
import { absent, everywhere, SERVERLESS } from '../faults/promises.js'

const DIES = absent('the locks die with the process that has them')

export const store: StoreDescriptor = {
  name: 'memory',
  title: 'Memory',
  order: 10,
  service: {
    libraries: { daily: [] },
    start: async () => withoutServer([], () => undefined),
    async open(_at, { load }) {
      const { memoryStore } = await load<typeof import('holdfast/memory')>('memory')
      return { store: memoryStore(), end: () => undefined }
    },
  },
  suite: {},
  torture: {
    ...USUAL,
    clients: 1,
    servers: 0,
    exports: false,
    promises: everywhere({
      ...SERVERLESS,
      abandon: DIES,
      kill: DIES,
      block: DIES,
      'disk-full': absent('nothing is written'),
    }),
    start: async () => ({
      nodes: [],
      connection: () => ({ ports: [] }),
      actions: {},
      stop: () => Promise.resolve(),
    }),
    async open(_connection, _index, load) {
      const { memoryStore } = await load<typeof import('holdfast/memory')>('memory')
      return { store: memoryStore({ tombstonesPerLock: 1000 }), end: () => undefined }
    },
  },
}
