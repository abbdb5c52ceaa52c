/** The errors of the lab, each in the language of the lab. */
import { fill, textsOf, type Language, type Texts } from '../index.js'
import { CliError, ConfigError, UsageError } from 'holdfast/internal'

export type ErrorKey = keyof Texts['errors']
type Values = Readonly<Record<string, string | number>>

interface Translatable {
  readonly key: ErrorKey
  readonly values: Values
}

/** A mistake in the arguments. */
export class LabUsageError extends UsageError implements Translatable {
  constructor(
    readonly key: ErrorKey,
    readonly values: Values = {},
  ) {
    super(textIn('en', { key, values }))
  }
}

/** What is missing on this machine. */
export class LabConfigError extends ConfigError implements Translatable {
  constructor(
    readonly key: ErrorKey,
    readonly values: Values,
    options?: ErrorOptions,
  ) {
    super(textIn('en', { key, values }), options)
  }
}

/** Returns the same error with its text in a language. */
export function inLanguage(error: unknown, language: Language): unknown {
  if (language === 'en' || !(error instanceof CliError)) return error
  const said = error instanceof LabUsageError || error instanceof LabConfigError
  const message = textIn(language, said ? error : translatable(error.message))
  return error instanceof ConfigError
    ? new ConfigError(message, { cause: error })
    : new UsageError(message)
}

/** Returns the language in which a mistake in these arguments is reported. */
export function languageIn(argv: readonly string[], usual: Language): Language {
  const at = argv.findIndex((arg) => /^--lang(=|$)/.test(arg))
  const lang = at === -1 ? undefined : (argv[at]?.split('=')[1] ?? argv[at + 1])
  if (lang === undefined) return usual
  return /^zh/i.test(lang) ? 'zh' : 'en'
}

function textIn(language: Language, { key, values }: Translatable): string {
  const { errors } = textsOf(language)
  const place = values['option']
  const option = place === TOPIC ? errors.topic : place === STRATEGY ? errors.strategy : place
  return fill(errors[key], option === undefined ? values : { ...values, option })
}

/** How an error names the two places that are no options. */
export const TOPIC = 'TOPIC'
export const STRATEGY = 'STRATEGY'

/** What the parser of the command line says, which knows no language. */
function translatable(message: string): Translatable {
  const [option = ''] = /--?[\w-]+/.exec(message) ?? []
  if (message.startsWith('There is no option')) return { key: 'noOption', values: { option } }
  if (message.includes('does not take an argument')) return { key: 'noValue', values: { option } }
  if (/missing|argument/.test(message)) return { key: 'needsValue', values: { option } }
  return { key: 'duration', values: { option } }
}
