import { userInfo } from 'node:os'

/** Returns the name of the user of this process. In a container a user may have only a number. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}
