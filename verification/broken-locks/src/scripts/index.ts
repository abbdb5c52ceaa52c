/**
 * Every script of the good lock and of the controls, for a server to load and for the test of the
 * model.
 */
import type { Script } from '../redis-connection.js'
import { FREE, RENEW, TAKE } from './good.js'
import { TAKE_WITHOUT_TOKEN, TAKE_WITHOUT_TOMBSTONE } from './mutants.js'
import { COMPARE_AND_DELETE } from './owner.js'
import { ENTER, LEAVE, RENEW_HASH } from './reentrant.js'
import { NEXT_TOKEN } from './token.js'

export const SCRIPTS: readonly Script[] = [
  TAKE,
  RENEW,
  FREE,
  NEXT_TOKEN,
  TAKE_WITHOUT_TOMBSTONE,
  TAKE_WITHOUT_TOKEN,
  COMPARE_AND_DELETE,
  ENTER,
  LEAVE,
  RENEW_HASH,
]
