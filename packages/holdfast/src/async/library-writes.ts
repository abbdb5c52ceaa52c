/** Client libraries that write what they are given in the next `setImmediate`. */

/** Resolves when such a library has written what it was given in this turn of the event loop. */
export async function libraryWrites(): Promise<void> {
  // What promises give it comes after the first of these.
  await nextTurn()
  await nextTurn()
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}
