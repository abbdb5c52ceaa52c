/**
 * The network between one process and the server. It has a few connections. Each keeps its own
 * order, and none keeps the order of the others.
 *
 * A message that is lost on the way stays lost. A real connection would resend until it breaks, and
 * the sender would then know as much, namely nothing.
 */
import type { Agenda } from './agenda.js'
import type { Dice } from '@holdfast/workload'

/** What the network does at present. Faults change it for a while. */
export interface LinkConditions {
  /** How long a message travels: at least, and on average beyond that. */
  leastMs: number
  meanMs: number
  /** How likely a request is lost, a reply is lost, a request arrives twice, a wake-up is lost. */
  loseRequest: number
  loseReply: number
  twice: number
  loseWake: number
  /** Wake-ups arrive damaged: the TTL of the grant that they carry is this many times as long. */
  swellsWakes: number
  /** How far the server of this way is behind the others at most, where they are several. */
  lagMs: number
  /** Nothing passes: it vanishes, or it arrives when the network is whole again. */
  cut: 'no' | 'drop' | 'hold'
}

export const USUAL_CONDITIONS: Readonly<LinkConditions> = {
  leastMs: 0.3,
  meanMs: 1.2,
  loseRequest: 0,
  loseReply: 0,
  twice: 0,
  loseWake: 0,
  swellsWakes: 1,
  lagMs: 2,
  cut: 'no',
}

/**
 * A repeated message comes within this time: a tombstone is promised for a TTL, and the TTL of all
 * runs is 1 s.
 */
const LATEST_REPEAT_MS = 800

interface Lane {
  /** When the latest message of each direction arrives: the next one is not faster. */
  upMs: number
  downMs: number
}

export class Link {
  readonly conditions: LinkConditions = { ...USUAL_CONDITIONS }
  readonly #agenda: Agenda
  readonly #dice: Dice
  readonly #lanes: readonly Lane[]
  #held: (() => void)[] = []

  constructor(agenda: Agenda, dice: Dice, lanes: number) {
    this.#agenda = agenda
    this.#dice = dice
    this.#lanes = Array.from({ length: lanes }, () => ({ upMs: 0, downMs: 0 }))
  }

  /** Which connection the next request takes. */
  lane(): number {
    return this.#lanes.length === 1 ? 0 : this.#dice.whole(0, this.#lanes.length - 1)
  }

  /**
   * Each of these says whether the message is on its way, or held back: false for one that is lost.
   */
  request(lane: number, arrive: () => void): boolean {
    if (this.#dice.chance(this.conditions.loseRequest)) return false
    const passes = this.#pass(() => this.#up(lane, arrive))
    if (this.#dice.chance(this.conditions.twice)) {
      // The client library sends it again over another connection, and drops that answer.
      const again = this.lane()
      this.#agenda.after(this.#dice.exponential(150, LATEST_REPEAT_MS), () =>
        this.#up(again, arrive),
      )
    }
    return passes
  }

  /**
   * Sends a request of a client library that resends unanswered commands after its connection
   * broke. A message that comes twice is late the first time, and its connection breaks.
   */
  requestOnce(lane: number, arrive: () => void): boolean {
    if (this.#dice.chance(this.conditions.loseRequest)) return false
    if (this.#dice.chance(this.conditions.twice)) {
      this.#agenda.after(this.#dice.exponential(150, LATEST_REPEAT_MS), () =>
        this.#up(lane, arrive),
      )
      return false
    }
    return this.#pass(() => this.#up(lane, arrive))
  }

  reply(lane: number, arrive: () => void): boolean {
    if (this.#dice.chance(this.conditions.loseReply)) return false
    return this.#pass(() => this.#down(lane, arrive))
  }

  /** A push of the server, over the first connection. */
  wake(arrive: () => void): boolean {
    if (this.#dice.chance(this.conditions.loseWake)) return false
    return this.#pass(() => this.#down(0, arrive))
  }

  /** The end of a partition: held messages continue. */
  mend(): void {
    this.conditions.cut = 'no'
    for (const go of this.#held.splice(0)) go()
  }

  #pass(go: () => void): boolean {
    if (this.conditions.cut === 'no') go()
    else if (this.conditions.cut === 'hold') this.#held.push(go)
    return this.conditions.cut !== 'drop'
  }

  #up(index: number, arrive: () => void): void {
    const lane = this.#lanes[index] as Lane
    lane.upMs = Math.max(lane.upMs, this.#agenda.nowMs + this.#latencyMs())
    this.#agenda.at(lane.upMs, arrive)
  }

  #down(index: number, arrive: () => void): void {
    const lane = this.#lanes[index] as Lane
    lane.downMs = Math.max(lane.downMs, this.#agenda.nowMs + this.#latencyMs())
    this.#agenda.at(lane.downMs, arrive)
  }

  #latencyMs(): number {
    return (
      this.conditions.leastMs +
      this.#dice.exponential(this.conditions.meanMs, 20 * this.conditions.meanMs)
    )
  }
}
