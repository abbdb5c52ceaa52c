/**
 * Names on their way to the server and back, as hexadecimal digits of their UTF-8.
 *
 * A server takes text for what the connection says that it is in, and a pool may say anything: with
 * `latin1` the name would arrive as other bytes than with `utf8mb4`, and there would be two locks
 * of one name. Digits are the same in all of them.
 */
export function hexOf(name: string): string {
  return Buffer.from(name).toString('hex')
}

export function nameOf(hex: string): string {
  return Buffer.from(hex, 'hex').toString()
}
