/** `holdfast/console`: a page that shows the locks of a store, who holds them and who waits. */
export { locksConsole } from './console.js'
export type { LocksConsole } from './console.js'
export type { ConsoleOptions } from './options.js'
export type { Access, Authorize, Grant, Permission } from './access/access.js'
export type { NodeRequest, NodeResponse } from './api/node-bridge.js'
export type { ActionListener } from './actions/audit.js'
export type { ActionView as ConsoleAction } from './view.js'
