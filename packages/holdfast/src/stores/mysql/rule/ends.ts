/**
 * How transactions end, and nothing but they: a session may be set to begin the next one with each
 * end of one, whose level could not be chosen any more, or to disconnect (`completion_type`).
 */
export const COMMIT = 'commit and no chain no release'
export const ROLLBACK = 'rollback and no chain no release'
