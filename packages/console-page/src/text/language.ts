/** Which language the page speaks: chosen before, or else that of the browser. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { en, type Texts } from './en.js'
import { zh } from './zh.js'

export const LANGUAGES = { en, zh } as const satisfies Record<string, Texts>
export type Language = keyof typeof LANGUAGES

const KEY = 'holdfast-console-language'

export const TextContext = createContext<{ readonly language: Language; readonly texts: Texts }>({
  language: 'en',
  texts: en,
})

export function useTexts(): Texts {
  return useContext(TextContext).texts
}

/** Returns how a whole number is written in the language of the page. */
export function useCount(): (count: number) => string {
  const { language } = useContext(TextContext)
  return (count) => count.toLocaleString(language)
}

export function firstLanguage(): Language {
  const kept = stored()
  if (kept === 'en' || kept === 'zh') return kept
  return navigator.languages
    .find((tag) => /^(en|zh)\b/i.test(tag))
    ?.slice(0, 2)
    .toLowerCase() === 'zh'
    ? 'zh'
    : 'en'
}

export function keepLanguage(language: Language): void {
  try {
    localStorage.setItem(KEY, language)
  } catch {
    // A browser may forbid storage. Then the choice lasts as long as the page.
  }
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
}
