/** How transactions end, and the refusal inside of one. */

/**
 * The two ends of a transaction, and only these. A session may be set to begin the next transaction
 * with each end of one, or to disconnect (`completion_type`). The level of such a next transaction
 * could not be chosen any more.
 */
export const COMMIT = 'commit and no chain no release'
export const ROLLBACK = 'rollback and no chain no release'

/**
 * Begins with no transaction open, or fails with error 1568 and changes nothing. A program may have
 * returned a connection to its pool inside of a transaction, and may still undo that.
 */
export const ON_OPEN_TRANSACTION = 'declare exit handler for 1568 resignal'
export const REFUSE_OPEN_TRANSACTION = 'set transaction isolation level read committed'
