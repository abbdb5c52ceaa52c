/** `holdfast elect`: one leader at a time, which stands again after a loss. */
import { expect, it } from 'vitest'
import { Box } from '../support/holdfast.js'
import { eventually } from '@holdfast/servers/eventually'

const LEAD = 'echo "leads $HOLDFAST_TOKEN"; read -r line; exit "${line:-0}"'

it('leads, hands over at its end, and passes the exit code on', async () => {
  const box = new Box()
  const first = box.holdfast(['elect', 'node', '--', 'sh', '-c', LEAD])
  const [, token = ''] = await first.prints(/leads (\d+)/)
  const second = box.holdfast(['elect', 'node', '--', 'sh', '-c', LEAD])
  await box.waiters('node', 1)
  const { lock } = await box.json<{ lock: Record<'holders' | 'waiters', object[]> }>([
    'inspect',
    'node',
  ])
  expect([...lock.holders, ...lock.waiters]).toMatchObject([{ election: true }, { election: true }])
  expect(second.stdout).toBe('')
  first.types('7\n')
  expect(await first.code()).toBe(7)
  const [, next = ''] = await second.prints(/leads (\d+)/)
  expect(BigInt(next)).toBeGreaterThan(BigInt(token))
  second.types('0\n')
  expect(await second.code()).toBe(0)
})

it('stands again after its leadership was stolen', async () => {
  const box = new Box()
  const leader = box.holdfast([
    ...['elect', 'node', '--ttl', '2s', '--kill-after', '0', '--'],
    ...['sh', '-c', 'echo "leads $HOLDFAST_TOKEN"; while :; do sleep 0.05; done'],
  ])
  const [, token = ''] = await leader.prints(/leads (\d+)/)
  await box.json(['steal', 'node', '--confirm', 'node', '--reason', 'test'])
  await eventually('it leads again', () => /leads \d+[^]*leads \d+/.test(leader.stdout))
  const tokens = [...leader.stdout.matchAll(/leads (\d+)/g)].map(([, text = '']) => BigInt(text))
  expect(tokens[1]).toBeGreaterThan(BigInt(token))
  expect(leader.stderr).toContain('leads "node" no more; it stands again')
  leader.kill('SIGTERM')
  expect(await leader.code()).toBe(143)
})

it('ends by a signal while it waits', async () => {
  const box = new Box()
  const holder = await box.holder('node')
  const candidate = box.holdfast(['elect', 'node', '--', 'true'])
  await box.waiters('node', 1)
  candidate.kill('SIGTERM')
  expect(await candidate.code()).toBe(143)
  holder.types('\n')
  expect(await holder.code()).toBe(0)
})

it('refuses options that make no sense for a leader', async () => {
  const run = new Box().holdfast(['elect', 'node', '--permits', '2', '--', 'true'])
  expect(await run.code()).toBe(64)
})
