/** The embedded store, in a folder of its own. */
import { makeFolder, removeFolder } from '@holdfast/servers/folders'
import { USUAL, type StoreDescriptor } from '../descriptor.js'
import { fillDisk } from '../faults/disk.js'
import { everywhere, SERVERLESS } from '../faults/promises.js'
import type { Target } from '../faults/target.js'
import { withoutServer } from '../service.js'

/** Ten minutes of work leave write-ahead logs of some megabytes. */
const DISK_MB = 64

export const store: StoreDescriptor = {
  name: 'embedded',
  title: 'Embedded (SQLite)',
  order: 20,
  service: {
    libraries: { daily: [] },
    async start() {
      const folder = makeFolder('embedded')
      return withoutServer([folder], () => removeFolder(folder))
    },
    async open([directory = ''], { load }) {
      const { embeddedStore } = await load<typeof import('holdfast/embedded')>('embedded')
      return { store: embeddedStore({ directory }), end: () => undefined }
    },
  },
  suite: {
    skip: [
      {
        reason: 'it has no service to restart; processes are killed instead',
        tests: ['tokens grow through a restart of the service'],
      },
      {
        reason: 'its verbs run in the order of the calls, so it keeps few tombstones',
        tests: [
          'the tombstone of a withdrawn claim outlasts a hundred later claims',
          'the tombstone of a claim that was withdrawn before its attempt outlasts a hundred later claims',
        ],
      },
    ],
  },
  besidePreviousMs: 1500,
  torture: {
    ...USUAL,
    servers: 0,
    promises: everywhere(SERVERLESS),
    start: async ({ kinds }) => embeddedTarget(kinds.includes('disk-full')),
    async open({ directory = '' }, _index, load) {
      const { embeddedStore } = await load<typeof import('holdfast/embedded')>('embedded')
      return { store: embeddedStore({ directory }), end: () => undefined }
    },
    url: ({ directory = '' }) => `embedded:${directory}`,
  },
}

/** @param small on a disk of its own that can be filled, which needs root */
function embeddedTarget(small: boolean): Target {
  const folder = makeFolder('torture-embedded', small ? DISK_MB : undefined)
  return {
    nodes: [],
    connection: () => ({ ports: [], directory: folder }),
    actions: { 'disk-full': () => fillDisk(folder) },
    tolerated: { 'disk-full': ['STORE_CONFIG'] },
    stop() {
      removeFolder(folder)
      return Promise.resolve()
    },
  }
}
