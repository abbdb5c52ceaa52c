/**
 * What stands in a node: the entry, and the number that it began with. ZooKeeper numbers the making
 * of nodes, and an entry that moves to another session is made again; its token must not change
 * with that.
 */
import { decodeEntry, encodeEntry, type EntryData } from '../../coordination/wire.js'

export function encodeNode(data: EntryData, number: bigint): string {
  return encodeEntry({ ...data, queueNumber: String(number) } as EntryData)
}

export function decodeNode(
  text: string,
  czxid: bigint,
): { data: EntryData; number: bigint } | undefined {
  const data: (EntryData & { queueNumber?: unknown }) | undefined = decodeEntry(text)
  if (!data) return undefined
  const { queueNumber, ...rest } = data
  return {
    data: rest,
    number:
      typeof queueNumber === 'string' && /^\d+$/.test(queueNumber) ? BigInt(queueNumber) : czxid,
  }
}
