/** The newest servers of all stores, as the descriptors list them. */
import type { NewestServer } from '@holdfast/servers/newest'
import { STORES } from './index.js'

export const NEWEST_SERVERS: readonly NewestServer[] = [
  ...new Set(STORES.flatMap(({ service }) => service.newest ?? [])),
]
