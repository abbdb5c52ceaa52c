/**
 * Notes in a lease where it was acquired.
 * @param call the method of `lock` that user code called; the stack begins with its caller
 */
export async function noteCaller<T extends { acquiredAt: string | undefined } | undefined>(
  lease: T | Promise<T>,
  lock: object,
  call: string,
): Promise<T> {
  const place: { stack?: unknown } = {}
  Error.captureStackTrace(place, Reflect.get(lock, call) as () => unknown)
  const acquired = await lease
  const { stack } = place
  // A program may have replaced how stacks are written. The first line names an error.
  if (acquired && typeof stack === 'string')
    acquired.acquiredAt = stack.replace(/^.*\n(?= +at )/, '')
  return acquired
}
