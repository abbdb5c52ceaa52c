/** The page of all commands: what `holdfast help COMMAND` prints. */
import { execFileSync } from 'node:child_process'

const HOLDFAST = 'packages/holdfast/bin/holdfast.cjs'

const HEAD = `# All commands

What \`holdfast help COMMAND\` prints. [The command line](../command-line.md) explains it, and has the
[exit codes](../command-line.md#exit-codes).
`

export function commandsPage() {
  const overview = help([])
  const names = Array.from(overview.matchAll(/^ {2}([a-z]+) {2,}\S/gm), ([, name = '']) => name)
  const parts = names.map((name) => `## \`holdfast ${name}\`\n\n${block(help([name]))}`)
  return [HEAD, block(overview), ...parts].join('\n')
}

/** @param {readonly string[]} words */
function help(words) {
  return execFileSync(process.execPath, [HOLDFAST, 'help', ...words], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C', COLUMNS: '100' },
  })
}

/** @param {string} text */
function block(text) {
  return `\`\`\`text\n${text.trimEnd()}\n\`\`\`\n`
}
