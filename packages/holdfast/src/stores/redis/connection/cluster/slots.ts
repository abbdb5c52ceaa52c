/**
 * Which of the 16 384 slots of a Cluster a key belongs to: CRC16 (XMODEM) of the key, or of what
 * stands in its braces.
 */
export const SLOTS = 16_384

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x80_00 ? (crc << 1) ^ 0x10_21 : crc << 1
  return crc
})

export function slotOf(key: string): number {
  let crc = 0
  for (const byte of Buffer.from(tagOf(key)))
    crc = ((crc << 8) & 0xff_ff) ^ (TABLE[(crc >> 8) ^ byte] as number)
  return crc % SLOTS
}

/** What stands between the first brace and the next closing one, unless nothing does. */
function tagOf(key: string): string {
  const start = key.indexOf('{')
  const end = start < 0 ? -1 : key.indexOf('}', start + 1)
  return end > start + 1 ? key.slice(start + 1, end) : key
}
