/** The store of a worker that dies soon, as one without memory does. */
export default async function dyingStore() {
  setTimeout(() => process.exit(7), 300)
  return { renew: () => [] }
}
