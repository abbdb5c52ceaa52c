/** The token of `holdfast console`: from a file, or a new one. */
import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { ConfigError } from '../cli-error.js'

const TOKEN_BYTES = 24
const SHORTEST_TOKEN = 16

export function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

/** @throws ConfigError for a file that cannot be read, or that other users can read */
export function tokenFrom(file: string): string {
  const { text, mode } = read(file)
  if (process.geteuid !== undefined && (mode & 0o077) !== 0)
    throw new ConfigError(`Other users may read the token in ${file}. Run: chmod 600 ${file}`)
  const token = text.trim()
  if (/^[\x21-\x7e]+$/.test(token) && token.length >= SHORTEST_TOKEN) return token
  throw new ConfigError(
    `${file} must have one token of at least ${SHORTEST_TOKEN} characters, without blanks. Make one: openssl rand -base64 24`,
  )
}

function read(file: string): { readonly text: string; readonly mode: number } {
  try {
    const fd = openSync(file, 'r')
    try {
      return { text: readFileSync(fd, 'utf8'), mode: fstatSync(fd).mode }
    } finally {
      closeSync(fd)
    }
  } catch (cause) {
    const why = (cause as Error).message
    throw new ConfigError(`The file of --token-file cannot be read: ${why}.`, { cause })
  }
}
