/** Which language the lab speaks. */
import { en } from './en.js'
import type { Texts } from './texts.js'
import { zh } from './zh.js'

export const LANGUAGES = ['en', 'zh'] as const
export type Language = (typeof LANGUAGES)[number]

const TEXTS: Readonly<Record<Language, Texts>> = { en, zh }

export function textsOf(language: Language): Texts {
  return TEXTS[language]
}

/**
 * As the environment's locale says, in the order in which POSIX reads it; English when it says
 * nothing known.
 */
export function languageOf(env: Readonly<Record<string, string | undefined>>): Language {
  const locale = [env['LC_ALL'], env['LC_MESSAGES'], env['LANG']].find(
    (value) => value !== undefined && value !== '',
  )
  return /^zh/i.test(locale ?? '') ? 'zh' : 'en'
}
