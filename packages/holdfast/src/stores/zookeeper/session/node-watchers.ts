/** The listeners to changes of nodes. Each is called once. */
export class NodeWatchers {
  readonly #byPath = new Map<string, Set<() => void>>()

  add(path: string, changed: () => void): void {
    const watchers = this.#byPath.get(path) ?? new Set()
    this.#byPath.set(path, watchers.add(changed))
  }

  delete(path: string, changed: () => void): void {
    const watchers = this.#byPath.get(path)
    if (watchers?.delete(changed) && watchers.size === 0) this.#byPath.delete(path)
  }

  notify(path: string): void {
    const watchers = this.#byPath.get(path) ?? []
    this.#byPath.delete(path)
    for (const changed of watchers) changed()
  }

  notifyAll(): void {
    for (const path of this.#byPath.keys()) this.notify(path)
  }
}
