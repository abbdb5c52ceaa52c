/** Asks a console for its view, as its page does. */

/** What is read of a view. */
export interface View {
  readonly table: { readonly rows: readonly unknown[] }
  readonly totals: { readonly isComplete: boolean }
  readonly refreshMs: number
}

/** What the page sends to a console at an address with its token. */
export function requestFor(
  address: string,
  query = '',
): [url: string, headers: Record<string, string>] {
  const { origin, hash } = new URL(address)
  const token = hash.replace('#token=', '')
  return [`${origin}/api/view${query}`, { authorization: `Bearer ${token}` }]
}

export async function askForView(address: string): Promise<View> {
  const [url, headers] = requestFor(address)
  const answer = await fetch(url, { headers })
  return (await answer.json()) as View
}
