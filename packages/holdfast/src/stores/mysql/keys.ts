/**
 * Names on their way to the server and back, as hexadecimal digits of their UTF-8.
 *
 * A server reads text in the character set of the connection, and a pool may have any. With
 * `latin1` the name would arrive as other bytes than with `utf8mb4`. One name would make two locks.
 * Digits are the same in all of them.
 */
export function hexOf(name: string): string {
  return Buffer.from(name).toString('hex')
}

export function nameOf(hex: string): string {
  return Buffer.from(hex, 'hex').toString()
}
