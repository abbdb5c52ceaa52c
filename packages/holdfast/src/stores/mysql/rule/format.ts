/**
 * The format of tables and procedures. Tables are only added to, so most changes keep it. A change
 * that processes of this version must not meet gets a new number. The migration to it does three
 * things:
 *
 * - It writes the number to `facts`, so that the migration of this version refuses.
 * - It replaces `apply_batch_v1`, `apply_one_v1` and `list_locks_v1` by procedures that signal
 *   `HF002`. A process of this version then reports `STORE_FORMAT` at its next call, and earlier
 *   calls pay nothing.
 * - It renames the column `sole_expires_us`. Plain statements then fail, and their requests go to
 *   these procedures.
 */

export const SCHEMA_FORMAT = 1

export const NOTE_FORMAT = `insert ignore into holdfast_facts (name, value) values ('format', '${SCHEMA_FORMAT}')`
