/**
 * `npm run model -- [variant …]`: explores each variant of the model, and compares what spin finds
 * with what is expected.
 *
 * Ends with 0 when all verdicts are as expected, and with 1 when one is not. It ends with 64 for an
 * unknown variant, and with 69 when spin or its compiler is not installed.
 */
import { assertTools, explore, MissingTool } from './spin.mjs'
import { VARIANTS } from './variants.mjs'

const names = process.argv.slice(2)
const unknown = names.find((name) => !VARIANTS.some((variant) => variant.name === name))

if (unknown === undefined) {
  process.exitCode = main(VARIANTS.filter(({ name }) => names.length === 0 || names.includes(name)))
} else {
  const known = VARIANTS.map(({ name }) => name).join(', ')
  console.error(`There is no variant "${unknown}". Choose among: ${known}.`)
  process.exitCode = 64
}

/** @param {readonly import('./variants.mjs').Variant[]} variants */
function main(variants) {
  try {
    assertTools()
    const asExpected = variants.filter(show).length
    console.log(`\n${asExpected} of ${variants.length} variants are as expected`)
    return asExpected === variants.length ? 0 : 1
  } catch (error) {
    if (!(error instanceof MissingTool)) throw error
    console.error(error.message)
    return 69
  }
}

/**
 * Explores a variant, prints what came of it, and gives whether that was expected.
 * @param {import('./variants.mjs').Variant} variant
 */
function show({ model, name, says, defines, holds }) {
  const outcome = explore(model, defines)
  const asExpected = outcome.holds === holds
  const verdict = outcome.holds ? 'holds in every state' : 'there is a counterexample'
  console.log(`\n${asExpected ? 'as expected' : 'NOT AS EXPECTED'}  ${name}: ${verdict}`)
  console.log(`  ${says}.`)
  console.log(
    `  ${defines.join(' ')}; ${outcome.states} states, ${outcome.transitions} transitions`,
  )
  for (const line of outcome.story) console.log(`    ${line}`)
  return asExpected
}
