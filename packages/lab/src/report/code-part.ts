/** The code of a strategy, folded until a reader opens it. */
import { codeOf } from '../strategies/code.js'
import type { Texts } from '../text/texts.js'
import { html, type Html } from './markup.js'

export function codePart(strategy: string, { oversell }: Texts): Html {
  const code = codeOf(strategy)
  if (code === '') return html``
  return html`<details>
    <summary>${oversell.code}</summary>
    <pre><code>${code}</code></pre>
  </details>`
}

/** Returns the strategy of the shop that uses a lock of the ladder. */
export function strategyOf(subject: string): string {
  return subject === 'holdfast' ? 'holdfast-redis' : `redis-${subject}`
}
