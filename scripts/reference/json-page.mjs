/** The page of the JSON that commands print, from the schema of the package. */
import { readFileSync } from 'node:fs'

const SCHEMA = 'packages/holdfast/schema/output.v1.json'

const HEAD = `# JSON of the command line

What a command prints with \`--json\`, from the
[schema](../../packages/holdfast/schema/output.v1.json) that the package ships. Every document has a
\`schemaVersion\`; a new version comes with a new number. What fails prints \`failure\` on stderr.
**Bold** is always there.
`

export function jsonPage() {
  const { $defs } = JSON.parse(readFileSync(SCHEMA, 'utf8'))
  const parts = Object.entries($defs).map(([name, definition]) => {
    const objects = definition.anyOf ?? [definition]
    return `## \`${name}\`\n\n${objects.map(table).join('\n')}`
  })
  return [HEAD, ...parts].join('\n')
}

function table({ description, properties = {}, required = [] }) {
  const rows = Object.entries(properties).map(([name, schema]) => {
    const shown = required.includes(name) ? `**\`${name}\`**` : `\`${name}\``
    return `| ${shown} | ${typeOf(schema)} | ${schema.description ?? ''} |`
  })
  const lead = description === undefined ? '' : `${description}\n\n`
  return `${lead}| property | type | meaning |\n|---|---|---|\n${rows.join('\n')}\n`
}

/** @returns {string} */
function typeOf(schema) {
  if (schema.$ref !== undefined) return `[\`${nameOf(schema.$ref)}\`](#${nameOf(schema.$ref)})`
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
  if (schema.enum !== undefined) return schema.enum.map((one) => `\`${one}\``).join(', ')
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' or ')
  if (schema.type === 'array') return `array of ${typeOf(schema.items ?? {})}`
  return [schema.type ?? 'any'].flat().join(' or ')
}

/** @param {string} reference */
function nameOf(reference) {
  return reference.replace('#/$defs/', '')
}
