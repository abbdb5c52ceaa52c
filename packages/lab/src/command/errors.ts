/** The errors of the lab, each in the language of the lab. */
import { say, type Language, type Said } from '../index.js'
import { LabServerError } from '../services/server-error.js'
import { CliError, ConfigError, UsageError } from 'holdfast/internal'

/** A mistake in the arguments. */
export class LabUsageError extends UsageError implements Said {
  constructor(
    readonly key: Said['key'],
    readonly values: Said['values'] = {},
  ) {
    super(say('en', { key, values }))
  }
}

/** What is missing on this machine. */
export class LabConfigError extends ConfigError implements Said {
  constructor(
    readonly key: Said['key'],
    readonly values: Said['values'],
    options?: ErrorOptions,
  ) {
    super(say('en', { key, values }), options)
  }
}

/** Returns the same error with its text in a language. */
export function inLanguage(error: unknown, language: Language): unknown {
  if (language === 'en' || !(error instanceof Error)) return error
  if (error instanceof LabServerError)
    return new CliError(say(language, error), error.code, { cause: error })
  if (!(error instanceof CliError)) return introduced(error, language)
  const isSaid = error instanceof LabUsageError || error instanceof LabConfigError
  const message = say(language, isSaid ? error : translatable(error.message))
  return error instanceof ConfigError
    ? new ConfigError(message, { cause: error })
    : new UsageError(message)
}

/** What the library and the services report is quoted: they speak English. */
function introduced(error: Error, language: Language): Error {
  error.message = say(language, { key: 'unfinished', values: { why: error.message } })
  return error
}

/** Returns the language in which a mistake in these arguments is reported. */
export function languageIn(argv: readonly string[], usual: Language): Language {
  const at = argv.findIndex((arg) => /^--lang(=|$)/.test(arg))
  const lang = at === -1 ? undefined : (argv[at]?.split('=')[1] ?? argv[at + 1])
  if (lang === undefined) return usual
  return /^zh/i.test(lang) ? 'zh' : 'en'
}

/** What the parser of the command line says, which knows no language. */
function translatable(message: string): Said {
  const [option = ''] = /--?[\w-]+/.exec(message) ?? []
  if (message.startsWith('There is no option')) return { key: 'noOption', values: { option } }
  if (message.includes('does not take an argument')) return { key: 'noValue', values: { option } }
  if (/missing|argument/.test(message)) return { key: 'needsValue', values: { option } }
  return { key: 'duration', values: { option } }
}
