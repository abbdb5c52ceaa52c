/** Which library speaks to which node: all of them, since a store may have clients of several. */
import { LIBRARIES } from '@holdfast/servers/redis-clients'

/**
 * @param {number} node
 * @returns {typeof LIBRARIES[number]}
 */
export function mixed(node) {
  return LIBRARIES[node % LIBRARIES.length] ?? LIBRARIES[0]
}
