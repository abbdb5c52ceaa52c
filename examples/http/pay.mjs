/** Stands for the payment: give `signal` to its requests, and `token` to what it writes. */
import { setTimeout as sleep } from 'node:timers/promises'

export async function pay(order, { signal, token }) {
  await sleep(200, undefined, { signal })
  console.log(`order ${order} is paid, token ${token}`)
}
