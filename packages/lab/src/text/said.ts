/** Sentences whose language is chosen late: the text that is meant, with its values. */
import { textsOf, type Language } from './language.js'
import { fill, type Texts } from './texts.js'

export interface Said {
  readonly key: keyof Texts['errors']
  readonly values: Readonly<Record<string, string | number>>
}

/** How an error names the two places that are no options. */
export const TOPIC = 'TOPIC'
export const STRATEGY = 'STRATEGY'

/** Returns a sentence in a language. */
export function say(language: Language, { key, values }: Said): string {
  const { errors } = textsOf(language)
  const place = values['option']
  const option = place === TOPIC ? errors.topic : place === STRATEGY ? errors.strategy : place
  return fill(errors[key], option === undefined ? values : { ...values, option })
}
