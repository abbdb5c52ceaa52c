/** A payment provider with an HTTP interface. */

/**
 * @param takesKeys whether the provider itself charges once for each `Idempotency-Key`. Most do.
 */
export function httpProvider(url, { takesKeys }) {
  return {
    takesKeys,
    async charge(payment, key) {
      const answer = await fetch(`${url}/charges`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
        body: payment,
        signal: AbortSignal.timeout(10_000),
      })
      // Of a 5xx the outcome is unknown. A refusal, such as 402, is an outcome.
      if (answer.status >= 500) throw new Error(`The provider answered ${answer.status}.`)
      return { status: answer.ok ? 201 : answer.status, body: await answer.json() }
    },
  }
}
