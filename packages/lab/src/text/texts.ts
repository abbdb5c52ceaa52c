/**
 * What the lab says, in each of its languages. Keys are the same everywhere, and the compiler sees
 * to it.
 */

/** What is told of a strategy: its name, and what happens with it. */
export interface StrategyText {
  readonly title: string
  readonly lesson: string
}

export interface RungText {
  readonly title: string
  /** What was done to it. */
  readonly fault: string
  /** What happened then, when it broke. */
  readonly broke: string
  /** What the next rung did about the same fault. */
  readonly cured: string
}

export interface ScenarioText {
  readonly title: string
  readonly story: string
  readonly without: string
  readonly withLock: string
  /** What is counted as damage. */
  readonly damage: string
}

export interface Texts {
  readonly oversell: {
    readonly title: string
    /** {items}, {buyers}, {processes} */
    readonly intro: string
    readonly columns: {
      readonly strategy: string
      readonly shop: string
      readonly sold: string
      readonly oversold: string
      readonly lost: string
      readonly unserved: string
      readonly time: string
      readonly rate: string
      readonly p99: string
      readonly verdict: string
    }
    readonly fine: string
    readonly oversoldVerdict: string
    readonly stuckVerdict: string
    /** {ms} */
    readonly blockedVerdict: string
    readonly lostVerdict: string
    readonly unservedVerdict: string
    readonly expected: string
    readonly surprise: string
    readonly lessons: string
    readonly strategies: Readonly<Record<string, StrategyText>>
  }
  readonly ladder: {
    readonly title: string
    readonly intro: string
    readonly broke: string
    readonly held: string
    readonly cure: string
    readonly nothing: string
    readonly rungs: Readonly<Record<string, RungText>>
    readonly end: string
  }
  readonly scenarios: Readonly<Record<'payment' | 'schedule' | 'cache' | 'config', ScenarioText>>
  readonly scenario: {
    readonly without: string
    readonly withLock: string
    readonly damage: string
    readonly time: string
  }
  readonly choose: {
    readonly title: string
    readonly questions: Readonly<Record<'machines' | 'have' | 'cost' | 'heat', string>>
    readonly recommendation: string
    readonly because: string
    readonly reasons: Readonly<Record<string, string>>
    readonly measured: string
    readonly columns: Readonly<
      Record<
        'store' | 'rate' | 'handOff' | 'p99' | 'failOver' | 'fence' | 'fair' | 'promise',
        string
      >
    >
    readonly promises: Readonly<Record<string, string>>
    readonly yes: string
    readonly no: string
  }
  readonly leftOut: {
    /** {what}, {command} */
    readonly service: string
    readonly none: string
  }
  readonly interrupted: string
  readonly report: {
    readonly title: string
    readonly made: string
    readonly holds: string
    readonly waits: string
    readonly stopped: string
    readonly works: string
  }
}

/** Puts values where `{name}` stands. */
export function fill(template: string, values: Readonly<Record<string, string | number>>): string {
  return template.replace(/\{(\w+)\}/g, (all, name: string) => String(values[name] ?? all))
}
