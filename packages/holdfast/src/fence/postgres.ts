import { DEFAULT_SCHEMA, quoteSchema } from '../stores/postgres/rule/schema.js'

/** Returns a statement that answers with a row if it noted the token, and with none if stale. */
export function fenceStatement(schema: string = DEFAULT_SCHEMA): string {
  return (
    `insert into ${quoteSchema(schema)}.fences as f (resource, token, owner) ` +
    'values ($1::text, $2::text::bigint, $3::text) on conflict (resource) do update ' +
    'set token = excluded.token, owner = excluded.owner ' +
    'where f.token < excluded.token or (f.token = excluded.token and f.owner = excluded.owner) ' +
    'returning resource'
  )
}
