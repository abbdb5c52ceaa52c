import { checkPrefix, DEFAULT_PREFIX } from '../stores/mysql/rule/schema.js'

/**
 * Returns two statements. The first notes the token unless it is stale; MySQL assigns from left to
 * right, so the owner is compared with the old token. The second finds a row if the first noted the
 * token. Both take the resource in hexadecimal digits, the token and the owner.
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
