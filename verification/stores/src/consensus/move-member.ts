/** Lets the address of a member lead to another one, while the member is of no use. */
import { setTimeout as sleep } from 'node:timers/promises'
import { cutOff, type Home } from '@holdfast/servers/network'
import type { Service } from '@holdfast/servers/service'
import type { Action } from '../faults/target.js'

/** Clients stay connected to the member, which follows. @param homes empty without a network */
export function moveMember(
  members: readonly Service[],
  ports: readonly number[],
  homes: readonly Home[],
  leaderOf: () => Promise<number>,
): Action {
  const takeOut = (index: number): (() => void) => {
    const home = homes[index]
    const others = homes.filter((one) => one !== home)
    if (home) return cutOff(home, others)
    members[index]?.kill('SIGSTOP')
    return () => members[index]?.kill('SIGCONT')
  }
  return async ({ server, byMs }, tools) => {
    const leader = await leaderOf()
    const followers = [...members.keys()].filter((index) => index !== leader)
    const one = followers[server % followers.length] ?? 0
    const other = followers[(server + 1) % followers.length] ?? 0
    const restore = takeOut(one)
    return async () => {
      tools.move(one, ports[other] ?? 0)
      await sleep(byMs)
      restore()
      tools.move(one, ports[one] ?? 0)
    }
  }
}
