/** A database server that is killed, and started again with its data. */
import { eventually } from '@holdfast/servers/eventually'
import type { Service } from '@holdfast/servers/service'

/** @param ask a question that is answered once the pool of the test has a connection again */
export async function restart(service: Service, ask: () => Promise<unknown>): Promise<void> {
  await service.crash()
  await service.start()
  await eventually('the pool is connected again', ask)
}
