/**
 * The network between clients and servers: one proxy for each pair, so that faults can meet one
 * client alone.
 */
import { Proxy } from '@holdfast/servers/proxy'
import type { ServerNode } from '@holdfast/stores/faults/target'

export class Wires {
  /** By client, then by server. */
  readonly #proxies: readonly (readonly Proxy[])[]

  private constructor(proxies: readonly (readonly Proxy[])[]) {
    this.#proxies = proxies
  }

  static async lay(clients: number, nodes: readonly ServerNode[]): Promise<Wires> {
    const proxies = await Promise.all(
      Array.from({ length: clients }, () => Promise.all(nodes.map(({ port }) => Proxy.to(port)))),
    )
    return new Wires(proxies)
  }

  portsOf(client: number): number[] {
    return (this.#proxies[client] ?? []).map(({ port }) => port)
  }

  of(client: number | 'all'): readonly Proxy[] {
    return client === 'all' ? this.#proxies.flat() : (this.#proxies[client] ?? [])
  }

  /**
   * Every second client reaches this server only, from now on, over new connections. Returns its
   * wires to it, and what undoes this.
   */
  confine(server: number): { wires: readonly Proxy[]; free: () => void } {
    const confined = this.#proxies.filter((_, client) => client % 2 === 0)
    const others = confined.flatMap((proxies) => proxies.filter((_, index) => index !== server))
    for (const proxy of others) proxy.faults.refuse = true
    for (const proxy of confined.flat()) proxy.reset()
    const free = (): void => others.forEach((proxy) => void (proxy.faults.refuse = false))
    return { wires: confined.flatMap((proxies) => proxies[server] ?? []), free }
  }

  redirect(server: number, port: number): void {
    this.move(server, port)
    this.reset()
  }

  move(server: number, port: number): void {
    for (const wires of this.#proxies) {
      const proxy = wires[server]
      if (proxy) proxy.target = port
    }
  }

  reset(): void {
    for (const proxy of this.of('all')) proxy.reset()
  }

  async cut(): Promise<void> {
    await Promise.all(this.of('all').map((proxy) => proxy.close()))
  }
}
