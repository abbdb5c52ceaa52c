/** The client library of each node. A Redlock store may have clients of several libraries. */
import { LIBRARIES } from '@holdfast/servers/redis-clients'

/**
 * @param {number} node
 * @returns {typeof LIBRARIES[number]}
 */
export function mixed(node) {
  return LIBRARIES[node % LIBRARIES.length] ?? LIBRARIES[0]
}
