/** Loads modules of the built package that no entry exports. */

/** @param path from the `dist` of the package on */
export function loadOwn<T>(path: string): Promise<T> {
  const root = new URL('../../../packages/holdfast/dist/', import.meta.url)
  return import(new URL(path, root).href) as Promise<T>
}
