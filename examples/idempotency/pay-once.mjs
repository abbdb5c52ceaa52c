/**
 * Charges a payment once, however often its request is sent.
 *
 * The unique key of the stored payment makes that safe. The lock makes a retry wait for the outcome
 * of a request that still runs. Without it the retry finds a begun payment, and cannot know whether
 * that request runs or has died.
 */

/**
 * Returns the outcome of a payment, from its provider or from an earlier request. The caller holds
 * the lock of the key.
 * @param payment what the client sent, as text
 */
export async function payOnce({ outcomes, provider }, key, payment, lease) {
  const begun = await outcomes.begin(key, payment)
  if (begun.payment !== payment)
    return { status: 422, body: { error: 'This key belongs to another payment.' } }
  if (begun.outcome) return { ...begun.outcome, isReplay: true }
  // An earlier request died, or lost its lock, after it had begun: was the payment charged?
  if (!begun.isNew && !provider.takesKeys)
    return { status: 409, body: { error: 'The outcome of this payment is unknown: ask for it.' } }

  lease.assertHeld()
  // The charge continues without its client: ended in the middle, its outcome would be unknown.
  const outcome = await provider.charge(payment, key)
  await outcomes.finish(key, outcome)
  return outcome
}
