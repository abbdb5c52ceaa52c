/** Finds the user and the password for a Redis server. */
import { readFileSync } from 'node:fs'
import type { LockUsageError } from '../errors.js'
import { settingsError } from './settings-error.js'

/** The user and password for Redis. */
export interface RedisCredentials {
  readonly username?: string
  readonly password: string
}

/** Returns the error for a URL, from what is wrong with it. */
export type Fail = (what: string) => LockUsageError

type Env = Readonly<Record<string, string | undefined>>

/** Returns the value of HOLDFAST_KIND_NAME, if it has one. */
type Variable = (name: string) => string | undefined

export interface Sources {
  /** Begins the names of the variables, after HOLDFAST_. */
  readonly kind: 'REDIS' | 'SENTINEL'
  /** `user:password` of the URL, escaped. */
  readonly user: string | undefined
  /** The file that the URL names. */
  readonly file: string | undefined
}

/**
 * Returns the password from the first of these that has one: the URL, the file that it names,
 * HOLDFAST_REDIS_PASSWORD, the file of HOLDFAST_REDIS_PASSWORD_FILE. The user is that of the URL,
 * or HOLDFAST_REDIS_USERNAME.
 */
export function credentialsOf(
  { kind, user, file }: Sources,
  env: Env,
  fail: Fail,
): RedisCredentials | undefined {
  const variable: Variable = (name) => {
    const value = env[`HOLDFAST_${kind}_${name}`]
    return value === '' ? undefined : value
  }
  const [name, own] = splitUser(user ?? '', fail)
  if (own !== undefined && file !== undefined) throw fail('has a password and names a file of one')
  if (variable('PASSWORD') !== undefined && variable('PASSWORD_FILE') !== undefined) {
    throw settingsError(
      `Set HOLDFAST_${kind}_PASSWORD or HOLDFAST_${kind}_PASSWORD_FILE, not both.`,
    )
  }
  const password = own ?? passwordFrom(file, variable)
  const username = name ?? (own === undefined ? variable('USERNAME') : undefined)
  if (password === undefined) {
    if (username === undefined) return undefined
    throw settingsError(
      `The Redis user ${JSON.stringify(username)} has no password. ` +
        `Put the password into the URL, a file (?passwordFile=), or HOLDFAST_${kind}_PASSWORD.`,
    )
  }
  return { ...(username === undefined ? {} : { username }), password }
}

/** Returns the password of the first source after the URL's own. */
function passwordFrom(file: string | undefined, variable: Variable): string | undefined {
  if (file !== undefined) return secretIn(file)
  const password = variable('PASSWORD')
  const path = variable('PASSWORD_FILE')
  return password === undefined && path !== undefined ? secretIn(path) : password
}

function splitUser(
  text: string,
  fail: Fail,
): [name: string | undefined, password: string | undefined] {
  const colon = text.indexOf(':')
  const name = decode(colon < 0 ? text : text.slice(0, colon), fail)
  const password = colon < 0 ? '' : decode(text.slice(colon + 1), fail)
  return [name === '' ? undefined : name, password === '' ? undefined : password]
}

export function decode(text: string, fail: Fail): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw fail('has a % that starts no escape; write it as %25')
  }
}

/** Editors end a file with a line break, which is no part of the password. */
function secretIn(path: string): string {
  const secret = readNamed(path)
    .toString()
    .replace(/\r?\n$/, '')
  if (secret === '')
    throw settingsError(`The file ${path}, which should hold a Redis password, is empty.`)
  return secret
}

export function readNamed(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw settingsError(`The file ${path}, which the Redis settings name, cannot be read.`, {
      cause,
    })
  }
}
