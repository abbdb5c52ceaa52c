/**
 * Preloaded into the subjects of a comparison: `holdfast` is imported from the checkout that
 * `HOLDFAST_BENCH_CHECKOUT` names, which must be built. Everything else stays as it is, so that
 * both sides of a comparison run the same subject.
 */
import { register } from 'node:module'
import { pathToFileURL } from 'node:url'

const checkout = process.env['HOLDFAST_BENCH_CHECKOUT']
if (checkout !== undefined) {
  const base = pathToFileURL(`${checkout}/packages/holdfast/package.json`).href
  register('./redirect-hooks.js', { parentURL: import.meta.url, data: base })
}
