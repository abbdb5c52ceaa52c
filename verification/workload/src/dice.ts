/**
 * Chance, from a seed. Each part of the world throws dice of its own, so that one more throw here
 * moves nothing there.
 */
import { SeededRandom } from 'holdfast/testing'

export class Dice {
  readonly #random: SeededRandom

  constructor(seed: number) {
    this.#random = new SeededRandom(seed)
    // Seeds that stand side by side give first numbers that are alike; the second ones are not.
    this.#random.next()
  }

  /** Dice for one part of a run, by its name. */
  static named(seed: number, name: string): Dice {
    let hash = 2166136261 ^ seed
    for (let index = 0; index < name.length; index += 1) {
      hash = Math.imul(hash ^ name.charCodeAt(index), 16777619)
    }
    return new Dice(Math.imul(hash ^ (hash >>> 15), 2246822519) ^ seed)
  }

  unit(): number {
    return this.#random.next()
  }

  chance(probability: number): boolean {
    return this.#random.next() < probability
  }

  between(low: number, high: number): number {
    return low + this.#random.next() * (high - low)
  }

  whole(low: number, high: number): number {
    return low + Math.floor(this.#random.next() * (high - low + 1))
  }

  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.#random.next() * choices.length)] as T
  }

  /** Mostly short, now and then long: exponential, with a mean and a bound. */
  exponential(mean: number, most: number): number {
    return Math.min(most, -Math.log(1 - this.#random.next()) * mean)
  }

  id(): string {
    return this.#random.id()
  }
}
