/** What linters say of the tarballs. */
import { report, run } from './run.mjs'

/** @param {Record<string, string>} tarballs */
export async function checkLints({ lab, ...libraries }) {
  for (const [name, tarball] of Object.entries({ ...libraries, lab })) {
    await run('npx', ['publint', '--strict', tarball])
    report(`publint ${name}`)
  }
  // Every way of resolving, without exceptions. The lab has no types: it is a program.
  for (const [name, tarball] of Object.entries(libraries)) {
    await run('npx', ['attw', tarball])
    report(`are the types wrong, ${name}`, 'no')
  }
}
