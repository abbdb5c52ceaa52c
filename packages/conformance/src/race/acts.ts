/** The verbs of the store contract, as acts of a race. */
import assert from 'node:assert/strict'
import type { Store } from 'holdfast/store'
import type { Context } from '../context.js'
import { renew, type Act, type Scene } from './race.js'

export interface Acts {
  readonly attempt: Act
  readonly renew: Act
  readonly note: Act
  readonly withdraw: Act
  readonly downgrade: Act
  readonly export: Act
  readonly adopt: Act
  readonly steal: Act
  readonly stealNow: Act
}

/** The verbs of one client that its store supports. */
export function actsOf(context: Context, store: Store, who: string): Partial<Acts> {
  const { traits } = store
  const act = (name: string, run: Act['run']): Act => ({ name: `${name} by ${who}`, run })
  const theft = (name: string, now: boolean): Act => ({
    ...act(name, async ({ claim }) => String((await store.steal(claim.lock, { now })).holders)),
    endsLease: true,
  })
  return {
    attempt: act('attempt', async ({ claim }) => {
      const { outcome } = await store.attempt(claim, { enqueue: true, tokens: 1 })
      return outcome
    }),
    renew: act('renew', ({ claim }) => renew(store, claim)),
    note: act('note', ({ claim }) => renew(store, { ...claim, keepsEnd: true })),
    withdraw: act('withdraw', ({ claim }) => store.withdraw(claim)),
    downgrade: act('downgrade', async ({ claim }) => String(await store.downgrade(claim))),
    ...(traits.adopt && {
      export: act('export', (scene, label) =>
        pass(context, store, scene, { label, detached: true }),
      ),
      adopt: act('adopt', (scene, label) =>
        pass(context, store, scene, { label, detached: false }),
      ),
    }),
    steal: theft('steal', false),
    stealNow: theft('steal now', true),
  }
}

interface Passage {
  readonly label: string
  readonly detached: boolean
}

async function pass(
  { random }: Context,
  store: Store,
  { claim, token, parties }: Scene,
  { label, detached }: Passage,
): Promise<string> {
  if (!store.adopt) assert.fail('a store with the trait has the verb')
  let party = parties.find((one) => one.label === label)
  if (!party) {
    party = { label, claim: { ...claim, id: random.id() }, store }
    parties.push(party)
  }
  const { outcome } = await store.adopt({ from: claim, token, to: party.claim, detached })
  return outcome
}
