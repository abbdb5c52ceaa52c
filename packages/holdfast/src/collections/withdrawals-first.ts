/**
 * Sorts what leaves together: withdrawals go first, since they make room. The others keep their
 * order, as do the withdrawals among themselves.
 *
 * An attempt for a lock that this client releases in the same tick then travels behind the release.
 * So it stands in the queue before the next holder can release. Otherwise that one's process would
 * get the lock again and again while this process is not scheduled.
 * @param isWithdrawal called once for each item, in their order
 */
export function withdrawalsFirst<T>(
  items: readonly T[],
  isWithdrawal: (item: T) => boolean,
): readonly T[] {
  const first: T[] = []
  const others: T[] = []
  for (const item of items) (isWithdrawal(item) ? first : others).push(item)
  if (first.length === 0 || others.length === 0) return items
  for (const item of others) first.push(item)
  return first
}
