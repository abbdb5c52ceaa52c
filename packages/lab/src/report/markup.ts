/** HTML as text, in which everything that is put in is escaped, unless it is HTML itself. */

export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type Content = string | number | Html | readonly Content[]

export function html(strings: TemplateStringsArray, ...contents: readonly Content[]): Html {
  return new Html(strings.map((text, index) => text + markupOf(contents[index] ?? '')).join(''))
}

/** Text that is markup already. */
export function raw(text: string): Html {
  return new Html(text)
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function markupOf(content: Content): string {
  if (content instanceof Html) return content.text
  if (typeof content === 'object') return content.map(markupOf).join('')
  return String(content).replace(/[&<>"']/g, (char) => ESCAPES[char] ?? char)
}

/** Text in which back-quotes stand around code. */
export function prose(text: string): Html {
  const parts = text.split('`')
  return html`${parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`
}
