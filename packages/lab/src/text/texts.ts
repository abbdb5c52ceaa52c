/** What the lab says. The compiler checks that each language has every text. */

export interface StrategyText {
  readonly title: string
  /** What happens with it, and why. */
  readonly lesson: string
}

export interface RungText {
  readonly title: string
  /** The fault that the lab drives. */
  readonly fault: string
  /** The damage when the rung breaks. */
  readonly broke: string
  /** How the next rung answers the same fault. */
  readonly cured: string
}

export interface ScenarioText {
  readonly title: string
  readonly story: string
  readonly without: string
  readonly withLock: string
  /** {count} */
  readonly damage: string
}

export interface HelpText {
  readonly usage: string
  readonly heading: string
  readonly about: string
  /** By the name of the option. */
  readonly options: Readonly<Record<string, string>>
  readonly notes: string
}

export interface Texts {
  readonly punctuation: {
    readonly colon: string
    readonly comma: string
    readonly semicolon: string
    readonly open: string
    readonly close: string
  }
  /** Below a table in a narrow terminal: {columns} */
  readonly wider: string
  readonly oversell: {
    readonly title: string
    /** {items}, {buyers}, {processes} */
    readonly intro: string
    readonly columns: Readonly<
      Record<
        | 'strategy'
        | 'shop'
        | 'sold'
        | 'oversold'
        | 'lost'
        | 'unserved'
        | 'blocked'
        | 'time'
        | 'rate'
        | 'p99'
        | 'verdict',
        string
      >
    >
    /** What each promise says: ✓ below means that it was kept. */
    readonly kept: Readonly<Record<'oversold' | 'lost' | 'unserved' | 'blocked', string>>
    /** Over the table in which each promise is judged. */
    readonly promises: string
    /** How its counts are to be read. */
    readonly promisesNote: string
    readonly speed: string
    readonly speedNote: string
    readonly soundLegend: string
    readonly brokenLegend: string
    readonly figures: string
    readonly fine: string
    readonly oversoldVerdict: string
    readonly stuckVerdict: string
    /** {ms} */
    readonly blockedVerdict: string
    readonly lostVerdict: string
    readonly unservedVerdict: string
    readonly surprise: string
    readonly lessons: string
    readonly code: string
    /** Below many lessons, which show no code. */
    readonly codeHint: string
    readonly strategies: Readonly<Record<string, StrategyText>>
  }
  readonly ladder: {
    readonly title: string
    readonly intro: string
    readonly broke: string
    readonly held: string
    readonly cure: string
    readonly surprise: string
    readonly rungs: Readonly<Record<string, RungText>>
    /** What is done to a client, at a moment. */
    readonly marks: Readonly<Record<string, string>>
    readonly end: string
  }
  readonly scenarios: Readonly<Record<'payment' | 'schedule' | 'cache' | 'config', ScenarioText>>
  readonly scenario: { readonly without: string; readonly withLock: string }
  readonly choose: {
    readonly title: string
    readonly questions: Readonly<Record<'machines' | 'have' | 'cost' | 'heat', string>>
    readonly recommendation: string
    readonly because: string
    readonly mind: string
    readonly reasons: Readonly<Record<string, string>>
    readonly cautions: Readonly<Record<string, string>>
    readonly measured: string
    /** {store}, {why} */
    readonly unmeasured: string
    readonly moreIsBetter: string
    readonly lessIsBetter: string
    readonly columns: Readonly<
      Record<'store' | 'rate' | 'handOff' | 'p99' | 'failOver' | 'fair' | 'promise', string>
    >
    readonly promises: Readonly<Record<string, string>>
    readonly yes: string
    readonly no: string
  }
  readonly leftOut: {
    readonly title: string
    /** {what}, {command} */
    readonly service: string
    /** {strategy}, {what} */
    readonly strategy: string
  }
  readonly interrupted: string
  /** What may stand in each is written in the English texts. */
  readonly errors: Readonly<
    Record<
      | 'topic'
      | 'manyTopics'
      | 'strategy'
      | 'ofOther'
      | 'nothingElse'
      | 'emptySegments'
      | 'fewBuyers'
      | 'unknownNear'
      | 'unknown'
      | 'wholeNumber'
      | 'noTerminal'
      | 'noAnswer'
      | 'missing'
      | 'leftOutBy'
      | 'notStarted'
      | 'died'
      | 'diedSilently'
      | 'serverEnded'
      | 'tooSlow'
      | 'storeAway'
      | 'measureFailed'
      | 'unfinished'
      | 'unwritable'
      | 'pageIsFolder'
      | 'noOption'
      | 'noValue'
      | 'needsValue'
      | 'duration',
      string
    >
  >
  /** The page of `--help`, where it is not the one that the command line has. */
  readonly help?: HelpText
  readonly report: {
    readonly title: string
    /** {date} */
    readonly made: string
    readonly legend: string
    readonly holds: string
    readonly waits: string
    readonly stopped: string
    readonly works: string
    readonly mark: string
  }
}

/** Puts values where `{name}` stands. */
export function fill(template: string, values: Readonly<Record<string, string | number>>): string {
  return template.replace(/\{(\w+)\}/g, (all, name: string) => String(values[name] ?? all))
}
