/**
 * What `holdfast run` and its like do over any store with a queue, as they do over the embedded
 * one.
 */
import { describe, expect, it } from 'vitest'
import { Box, type Inspected } from './holdfast.js'
import type { Program } from './program.js'

export type StoreEnv = { readonly HOLDFAST_STORE: string }

/** @param env read when a test runs, which is after the server was started */
export function runOver(store: string, env: () => StoreEnv): void {
  const start = (box: Box, ...args: string[]): Program => box.holdfast(args, { env: env() })
  const code = (box: Box, ...args: string[]): Promise<number | string> => start(box, ...args).code()
  const inspect = async (box: Box, name: string): Promise<Inspected | null> => {
    const run = start(box, 'inspect', name, '--json')
    await run.code()
    return (JSON.parse(run.stdout) as { lock: Inspected | null }).lock
  }
  const hold = async (box: Box, name: string, ...options: string[]): Promise<Program> => {
    const run = start(box, 'run', name, ...options, '--', 'sh', '-c', 'echo held; sleep 60')
    await run.prints('held')
    return run
  }

  describe(`run over ${store}`, () => {
    it('runs the command under the lock, and passes its status on', async () => {
      const run = start(
        new Box(),
        'run',
        'job',
        '--',
        'sh',
        '-c',
        'echo "$HOLDFAST_TOKEN"; exit 42',
      )
      expect(await run.code()).toBe(42)
      expect(BigInt(run.stdout.trim())).toBeGreaterThan(0n)
    })

    it('waits for its turn, shows itself, and ends when the lock is stolen', async () => {
      const box = new Box()
      const first = await hold(box, 'turn')
      expect(await code(box, 'run', 'turn', '--wait', '0', '--', 'true')).toBe(75)
      const second = start(box, 'run', 'turn', '--', 'echo', 'mine')
      await expect
        .poll(() => inspect(box, 'turn'), { timeout: 10_000 })
        .toMatchObject({ waiters: [{}] })
      expect(
        await code(box, 'steal', 'turn', '--confirm', 'turn', '--reason', 'a test', '--now'),
      ).toBe(0)
      expect(await second.code()).toBe(0)
      expect(second.stdout).toBe('mine\n')
      expect(await first.code()).not.toBe(0)
    })

    it('shares with --shared, and ls lists it and steal ends each claim', async () => {
      const box = new Box()
      const readers = [await hold(box, 'a/b ü', '--shared'), await hold(box, 'a/b ü', '--shared')]
      expect(await code(box, 'run', 'a/b ü', '--wait', '0', '--', 'true')).toBe(75)
      const ls = start(box, 'ls', 'a/')
      expect(await ls.code()).toBe(0)
      expect(ls.stdout).toContain('a/b ü')
      for (const { claimId } of (await inspect(box, 'a/b ü'))?.holders ?? []) {
        expect(
          await code(box, 'steal', 'a/b ü', '--claim', claimId, '--reason', 'test', '--now'),
        ).toBe(0)
      }
      expect(await code(box, 'run', 'a/b ü', '--wait', '10s', '--', 'true')).toBe(0)
      for (const reader of readers) expect(await reader.code()).not.toBe(0)
    })
  })
}
