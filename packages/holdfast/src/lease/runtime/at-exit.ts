/** What is left to do when the process exits, be it in the middle of a tick. */
const works = new Set<() => void>()
let isListening = false

/** Does this when the process exits, until the returned function is called. It must not wait. */
export function atExit(work: () => void): () => void {
  works.add(work)
  if (!isListening) {
    isListening = true
    process.on('exit', () => {
      for (const each of works) each()
    })
  }
  return () => void works.delete(work)
}
