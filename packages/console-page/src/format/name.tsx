/**
 * Names of locks, labels and hosts come from other programs. The page shows what a reader would not
 * see, or what would reorder the text, by its code: `a\u202egpj.exe` would read as `aexe.jpg`.
 */
import type { ComponentChildren } from 'preact'

/** Controls, format characters, separators but the space, and what has no character. */
const INVISIBLE =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\u2800\u3164\uffa0\u115f\u1160]|(?! )\p{Zs}/u
const ALONE = new RegExp(`^(?:${INVISIBLE.source})$`, 'u')
/** How many characters of a name a list shows. */
const LONGEST = 120
const PIECES = new RegExp(`(${INVISIBLE.source})`, 'u')

export function escapeText(text: string): string {
  return text
    .split(PIECES)
    .map((piece) => (isInvisible(piece) ? codeOf(piece) : piece))
    .join('')
}

/** Shows a text of another program, by itself: its direction does not reach its neighbours. */
export function Foreign({ text }: { text: string }) {
  return <bdi>{piecesOf(text)}</bdi>
}

/** Returns a name of a length for lists, without its middle. */
export function shorten(name: string): string {
  const characters = Array.from(name)
  if (characters.length <= LONGEST) return name
  return `${characters.slice(0, LONGEST / 2).join('')}…${characters.slice(-LONGEST / 2).join('')}`
}

/** Shows the name of a lock, with its last part standing out. */
export function LockName({ name }: { name: string }) {
  const end = Math.max(
    ...[':', '/'].map((separator) => name.lastIndexOf(separator, name.length - 2)),
  )
  return (
    <bdi class="name">
      {end > 0 && <span class="stem">{piecesOf(name.slice(0, end + 1))}</span>}
      <span class="leaf">{piecesOf(name.slice(end > 0 ? end + 1 : 0))}</span>
    </bdi>
  )
}

function piecesOf(text: string): ComponentChildren {
  return text
    .split(PIECES)
    .map((piece) => (isInvisible(piece) ? <span class="code-point">{codeOf(piece)}</span> : piece))
}

function isInvisible(piece: string): boolean {
  return ALONE.test(piece)
}

function codeOf(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16)
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
}
