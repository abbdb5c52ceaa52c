import { checkPrefix, DEFAULT_PREFIX } from '../stores/mysql/schema.js'

/**
 * The first notes the token unless it is stale; its assignments are made from left to right, so
 * that the owner is compared with the old token. The second finds a row when the first did note it.
 * Both take the resource as `hexOf` gives it, the token and the owner.
 */
export function fenceStatements(
  prefix: string = DEFAULT_PREFIX,
): readonly [write: string, read: string] {
  const table = `${checkPrefix(prefix)}fences`
  return [
    `insert into ${table} (resource, token, owner) values (unhex(?), cast(? as signed), ?) ` +
      'on duplicate key update owner = if(values(token) > token, values(owner), owner), ' +
      'token = greatest(token, values(token))',
    `select token from ${table} where resource = unhex(?) and token = cast(? as signed) and owner = ? for update`,
  ]
}
