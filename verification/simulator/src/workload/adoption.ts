/** An heir that adopts an exported lease, and what it may expect of it. */
import { Actor, type Belief, type Environment, type Heir } from '@holdfast/workload'
import type { Circumstances } from './circumstances.js'
import type { Exported } from './hand-overs.js'

/** Adopts a lease as an actor of this name, works under it and releases it. */
export async function adoptLease(
  environment: Environment,
  name: string,
  exported: Exported,
  { workMs }: Heir,
  circumstances: Circumstances,
): Promise<void> {
  const { handle, operation } = exported
  const target = environment.target(operation)
  const actor = new Actor(name, environment)
  const work = async (belief: Belief): Promise<void> => {
    checkAdoption(belief, name, exported, circumstances)
    environment.workBegan(belief)
    await actor.increment(belief)
    await actor.workFor(workMs, belief)
    await actor.increment(belief)
  }
  const act = (): Promise<void> =>
    actor.hold({ target, how: 'adopt', handle, waitMs: Infinity, work })
  let isBegun = false
  await actor.run(() => {
    if (isBegun) return undefined
    isBegun = true
    return { thinkMs: 0, act }
  })
}

/** One adoption of each lease, with a larger token. */
function checkAdoption(
  { key, lease }: Belief,
  name: string,
  exported: Exported,
  circumstances: Circumstances,
): void {
  const breach = (property: string, message: string): void =>
    circumstances.breach({ property, key, message })
  const { token } = exported
  exported.adoptions += 1
  if (exported.adoptions > 1)
    breach('adopted-twice', `${name} adopted a lease that was adopted before.`)
  if (lease.token <= token)
    breach('adopted-token', `${name} adopted ${token} and got ${lease.token}.`)
}
