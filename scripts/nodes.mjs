/** The versions of Node that are supported, and how to run a script on one of them. */

const NODES = ['20', '22', '24', '26']
export const RUNNING_NODE = process.versions.node.split('.')[0]
export const OTHER_NODES = NODES.filter((version) => version !== RUNNING_NODE)

/**
 * The npm package `node` carries the binary of each version.
 * @param {string} version @param {string[]} args
 * @returns {import('./steps.mjs').Step}
 */
export function onNode(version, ...args) {
  return {
    title: `tests on Node ${version}`,
    command: 'npx',
    args: ['-y', '-p', `node@${version}`, 'node', ...args],
  }
}
