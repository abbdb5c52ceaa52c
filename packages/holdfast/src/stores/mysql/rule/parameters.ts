/** What the verbs of the rule have in common: their parameters, and how they read a request. */

/** The parameters of every verb. */
export const ANSWERS = /* sql */ `(
  in a_request longtext character set utf8mb4, in a_now bigint,
  out a_answer longtext character set utf8mb4
)`
/** The parameters of verbs that may grant to waiters, whose clients are then to be woken. */
export const ANSWERS_AND_WAKES = ANSWERS.replace(
  '\n)',
  ',\n  inout a_channels longtext character set ascii\n)',
)
export const WRITES = 'modifies sql data sql security invoker'
export const text = (field: string): string => `json_unquote(json_extract(a_request, '$.${field}'))`
/** The lock and the claim of a request. */
export const CLAIM = /* sql */ `  declare a_name varbinary(512) default unhex(${text('lock')});
  declare a_id varchar(64) character set ascii default ${text('id')};`
