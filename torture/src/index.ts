/** What the tests of the torture use. */
export { parseCommand, UsageError, type Command } from './command.js'
