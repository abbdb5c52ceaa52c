const warned = new Set<string>()

/** Emits a warning of the process, once for each code. */
export function warnOnce(code: string, text: string): void {
  if (warned.has(code)) return
  warned.add(code)
  process.emitWarning(text, { type: 'HoldfastWarning', code })
}
