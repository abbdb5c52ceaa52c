/** A moment, as the clock of the reader shows it. */
import { useContext } from 'preact/hooks'
import { TextContext } from '../text/language.js'

export function Time({ atMs }: { atMs: number }) {
  const { language } = useContext(TextContext)
  const date = new Date(atMs)
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString(language)}>
      {date.toLocaleTimeString(language, { hour12: false })}
    </time>
  )
}
