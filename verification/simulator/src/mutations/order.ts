/** Mutations of handing on: who is served next inside a process, and with which token. */
import type { Mutation } from './mutation.js'

export const ORDER_MUTATIONS: readonly Mutation[] = [
  {
    name: 'cohort-bound-in-time',
    breaks: 'A row of hand-offs ends after 10 ms',
    edits: [
      {
        file: 'lease/local-queue/local-hand-off.js',
        find: 'HAND_OFFS_FOR_MS = 10',
        replace: 'HAND_OFFS_FOR_MS = 1000',
      },
    ],
  },
  {
    name: 'cohort-bound-in-number',
    breaks: 'A row has at most 32 hand-offs',
    edits: [
      {
        file: 'lease/local-queue/local-hand-off.js',
        find: 'HAND_OFFS_IN_A_ROW = 32',
        replace: 'HAND_OFFS_IN_A_ROW = 3200',
      },
    ],
    scenario: 'long-row',
  },
  {
    name: 'cohort-shares-token',
    breaks: 'Each lease of a row has its own, larger token',
    edits: [
      {
        file: 'lease/local-queue/local-hand-off.js',
        find: 'grant.token += 1n',
        replace: 'grant.token += 0n',
      },
    ],
  },
  {
    name: 'cohort-exceeds-its-tokens',
    breaks: 'A row ends with the block of tokens that the grant reserved',
    edits: [
      {
        file: 'lease/local-queue/local-hand-off.js',
        find: 'grant.handOffs + 1 < grant.tokens &&',
        replace: '',
      },
      {
        file: 'lease/local-queue/local-hand-off.js',
        find: '(grant.handOffs < grant.tokens,',
        replace: '(true,',
      },
    ],
  },
  {
    name: 'dead-grant-handed-on',
    breaks: 'Only a lease that is alive, with more than half of its TTL left, is handed on',
    edits: [
      {
        file: 'lease/local-queue/local-hand-off.js',
        find: 'grant.isAlive(nowMs, runtime.clockOffsetMs(nowMs))',
        replace: 'true',
      },
      {
        file: 'lease/local-queue/local-hand-off.js',
        find: 'nowMs - grant.grantedMs < exports.HAND_OFFS_FOR_MS &&',
        replace: '',
      },
      {
        file: 'lease/local-queue/local-hand-off.js',
        find: 'grant.deadlineMs - nowMs > grant.ttlMs / 2',
        replace: 'true',
      },
    ],
    masked: 'the bound in time and the half of the TTL each keep a dead grant from being handed on',
  },
  {
    name: 'fifo-queue-passed',
    breaks: 'A FIFO queue hands off only to the caller that stands right behind',
    edits: [
      {
        file: 'lease/local-queue/store-order-queue.js',
        find: 'first.value.pending?.queueNumber === grant.queueNumber + 1 ? first : undefined',
        replace: 'first',
      },
    ],
  },
]
