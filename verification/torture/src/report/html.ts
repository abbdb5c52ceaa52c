/** Small pieces of HTML. */
export function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** A table; cells are HTML already. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('')
  return `<div class="scroll"><table><thead><tr>${cells(head, 'th')}</tr></thead><tbody>${body}</tbody></table></div>`
}

function cells(row: readonly string[], tag: 'td' | 'th'): string {
  return row.map((cell) => `<${tag}>${cell}</${tag}>`).join('')
}

/** Nothing is loaded from anywhere; light and dark follow the reader's own choice. */
export function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`
}

const STYLE = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#fbfbf9, #15171a);
  --ink: light-dark(#1c1f23, #e4e6e8);
  --quiet: light-dark(#667, #99a);
  --rule: light-dark(#dfe1e4, #2c3036);
  --panel: light-dark(#fff, #1c1f24);
  --good: light-dark(#187a3d, #5fce8a);
  --bad: light-dark(#c01c28, #ff7b7b);
  --odd: light-dark(#8a5a00, #e0b050);
  --hold: light-dark(#5a8fd6, #4f83c4);
  --shared: light-dark(#8cc5a8, #4f9a78);
  --lost: light-dark(#e2a23b, #c98a2b);
  --process: light-dark(#d9b8e8, #6c4a80);
  --network: light-dark(#f3c9a5, #85562f);
  --server: light-dark(#f2b0b0, #853c3c);
}
body { background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-top: 1px solid var(--rule); padding-top: 1.2rem } h3 { font-size: 1rem }
code, pre { font: 12.5px/1.5 ui-monospace, monospace } pre { background: var(--panel); border: 1px solid var(--rule); padding: .7rem; overflow-x: auto }
.scroll { overflow-x: auto; margin: .8rem 0 } table { border-collapse: collapse; font-size: 14px }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--rule); vertical-align: top; font-variant-numeric: tabular-nums }
th { color: var(--quiet); font-weight: 600 } .kept { color: var(--good) } .broken { color: var(--bad); font-weight: 700 } .waived { color: var(--odd) } .none, .quiet { color: var(--quiet) }
svg { background: var(--panel); border: 1px solid var(--rule) } svg text { fill: var(--ink); font: 11px ui-monospace, monospace }
.label { text-anchor: end } .fault-label, .time { fill: var(--quiet) !important } .tick, .rule { stroke: var(--rule) }
.hold { fill: var(--hold) } .shared { fill: var(--shared) } .lost { fill: var(--lost) } .marked { stroke: var(--bad); stroke-width: 2.5 }
.token, .fault-name { font-size: 10px !important } .wait { stroke: var(--quiet); stroke-width: 1.5 } .gone { stroke-dasharray: 2 3 }
.process { fill: var(--process) } .network { fill: var(--network) } .server { fill: var(--server) }
.key span { display: inline-block; width: 1.1em; height: .7em; margin: 0 .35em 0 1em; border-radius: 2px }
details { margin: .8rem 0 } summary { cursor: pointer }
`
