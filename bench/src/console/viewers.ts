/** Some pages of a console, in a process of their own, which measures their answers. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

type Order = 'pause' | 'resume' | 'times'

export class Viewers {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  static async start(address: string, count: number): Promise<Viewers> {
    const module = new URL('../subjects/console-viewers.js', import.meta.url)
    const child = fork(module, [address, String(count)])
    await once(child, 'message')
    return new Viewers(child)
  }

  async pause(): Promise<void> {
    await this.#tell('pause')
  }

  async resume(): Promise<void> {
    await this.#tell('resume')
  }

  /** Resolves to how long the answers since the last call took, in milliseconds. */
  async times(): Promise<number[]> {
    return (await this.#tell('times')) as number[]
  }

  stop(): void {
    this.#child.kill()
  }

  async #tell(order: Order): Promise<unknown> {
    const answer = once(this.#child, 'message')
    this.#child.send(order)
    const [message] = (await answer) as [unknown]
    return message
  }
}
