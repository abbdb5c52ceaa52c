/** The actions of users, refused ones included: the last of them for the page, all for a log. */
import type { ActionView } from '../view.js'

const MOST = 200

/** Called for each action, and for each refused one. */
export type ActionListener = (action: ActionView) => void | Promise<void>

export class Audit {
  readonly #listener: ActionListener | undefined
  readonly #log: (text: string) => void
  /** The latest first. */
  #actions: readonly ActionView[] = []

  constructor(listener: ActionListener | undefined, log: (text: string) => void) {
    this.#listener = listener
    this.#log = log
  }

  get actions(): readonly ActionView[] {
    return this.#actions
  }

  /** A listener that fails undoes no action. */
  add(action: ActionView): ActionView {
    this.#actions = [action, ...this.#actions].slice(0, MOST)
    void this.#report(action)
    return action
  }

  async #report(action: ActionView): Promise<void> {
    try {
      await this.#listener?.(action)
    } catch (error) {
      this.#log(`onAction failed: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}
