/** The CPU time that a Redis server has used, as it reports it itself. */
import { Redis } from 'ioredis5'

/** Resolves to the CPU time that a server has used so far, in microseconds; NaN where unknown. */
export type CpuMeter = () => Promise<number>

/** For a server that does not report its CPU time. */
export const noMeter: CpuMeter = () => Promise.resolve(NaN)

/** Reads it over a connection of its own, which is opened by the first reading. */
export function redisMeter(port: number): CpuMeter {
  const client = new Redis(port, { lazyConnect: true })
  return async () => {
    const info = await client.info('cpu')
    const seconds = ['user', 'sys'].map((kind) =>
      Number(new RegExp(`^used_cpu_${kind}:([\\d.]+)`, 'm').exec(info)?.[1] ?? NaN),
    )
    return seconds.reduce((sum, one) => sum + one, 0) * 1_000_000
  }
}
