/** Returns the working folder; undefined after it was removed. */
export function workingFolder(): string | undefined {
  try {
    return process.cwd()
  } catch {
    return undefined
  }
}
