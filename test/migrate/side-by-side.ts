/**
 * Runs each mapping of a migration page with the old library and with Holdfast, and compares what
 * user code sees. Each row of the page's tables "Call by call" has a mapping, or a reason for none.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

export interface Mapping {
  /** Runs the old call, and returns what user code sees. */
  readonly old: () => Promise<unknown>
  /** Runs the call that the page puts in its place. */
  readonly ours: () => Promise<unknown>
  /** What each of them shows, where the page says that they differ. */
  readonly differs?: { readonly old: unknown; readonly ours: unknown }
}

export function sideBySide(
  page: string,
  mappings: Readonly<Record<string, Mapping>>,
  withoutMapping: Readonly<Record<string, string>> = {},
): void {
  test(`each row of ${page}.md has a mapping or a reason for none`, () => {
    const known = [...Object.keys(mappings), ...Object.keys(withoutMapping)]
    expect(known.toSorted()).toEqual(rowsOf(page).toSorted())
  })

  test.concurrent.for(Object.entries(mappings))(
    '%s',
    async ([, { old, ours, differs }], { expect: its }) => {
      const seen = { old: await old(), ours: await ours() }
      its(seen).toEqual(differs ?? { old: seen.old, ours: seen.old })
    },
  )
}

/** Returns the first cells of the tables below the headings "Call by call". */
function rowsOf(page: string): readonly string[] {
  const text = readFileSync(new URL(`../../docs/migrate/${page}.md`, import.meta.url), 'utf8')
  return text
    .split(/^## /m)
    .filter((section) => section.startsWith('Call by call'))
    .flatMap((section) => section.split('\n').filter((line) => line.startsWith('| ')))
    .map((line) => (line.split(' | ')[0] ?? '').replace(/^\| /, '').trim())
    .filter((cell) => cell.includes('`'))
}

/** Returns whether it succeeded. */
export async function succeeds(call: () => PromiseLike<unknown>): Promise<boolean> {
  try {
    await call()
    return true
  } catch {
    return false
  }
}

/** Resolves when the signal has aborted; rejects after five seconds. */
export async function aborted(signal: AbortSignal): Promise<boolean> {
  if (!signal.aborted) await once(signal, 'abort', { signal: AbortSignal.timeout(5_000) })
  return signal.aborted
}

/** Resolves after the time. For what an old library does by its own timers. */
export function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Returns the most callers that were inside at once. */
export class Crowd {
  most = 0
  #inside = 0

  readonly enter = async (): Promise<void> => {
    this.#inside += 1
    this.most = Math.max(this.most, this.#inside)
    await pass(5)
    this.#inside -= 1
  }
}
