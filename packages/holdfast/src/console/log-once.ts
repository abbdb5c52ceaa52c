const MOST_TEXTS = 100

/** Returns a log that warns through Node, once for each text: each poll of a page may repeat it. */
export function logOnce(): (text: string) => void {
  const logged = new Set<string>()
  return (text) => {
    if (logged.has(text) || logged.size >= MOST_TEXTS) return
    logged.add(text)
    process.emitWarning(`The console: ${text}`, {
      type: 'HoldfastWarning',
      code: 'HOLDFAST_CONSOLE',
    })
  }
}
