/**
 * The two ends of a transaction, and only these. A session may be set to begin the next transaction
 * with each end of one, or to disconnect (`completion_type`). The level of such a next transaction
 * could not be chosen any more.
 */
export const COMMIT = 'commit and no chain no release'
export const ROLLBACK = 'rollback and no chain no release'
