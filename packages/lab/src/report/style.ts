/** The page's looks. Colours have names, and the names have other values in the dark. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #fbfbfa; --text: #1d1f23; --faint: #6a6f78; --line: #d9dbe0; --card: #ffffff;
  --holds: #2f6fbb; --waits: #b9bec8; --believes: #c8372d; --stopped: #d9a12b;
  --good: #23744a; --bad: #c8372d; --broken: #b9bec8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #16181c; --text: #e7e8ea; --faint: #9aa0aa; --line: #353941; --card: #1e2126;
    --holds: #6ea8e8; --waits: #565c67; --believes: #f0736a; --stopped: #e5b955;
    --good: #63c390; --bad: #f0736a; --broken: #565c67;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 72rem; background: var(--ground); color: var(--text);
  font: 16px/1.55 system-ui, "Noto Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif; }
h1 { margin: 0; font-size: 1.7rem; } h2 { margin: 0 0 .4rem; font-size: 1.3rem; } h3 { margin: 1.6rem 0 .3rem; font-size: 1rem; }
code { font-size: .92em; }
summary { cursor: pointer; font-size: .88rem; color: var(--faint); }
pre { margin: .4rem 0; padding: .7rem; overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; color: var(--text); font-size: .85rem; line-height: 1.45; }
.made, .hint { margin: 0 0 .6rem; color: var(--faint); } .hint { font-size: .9rem; }
section { margin: 1.5rem 0; padding: 1.1rem; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
article { border-top: 1px solid var(--line); margin-top: 1.2rem; }
figure { margin: .5rem 0; } figcaption { font-weight: 600; }
.good .verdict, .kept { color: var(--good); } .bad .verdict, .damage { color: var(--bad); } .verdict { font-weight: 600; }
.bars { display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: .25rem .8rem; align-items: center; font-size: .88rem; }
.bar-name { text-align: right; } .bar-track { display: flex; align-items: center; padding-right: 6.5rem; }
.bar { display: inline-block; flex: none; height: 1rem; min-width: 2px; border-radius: 2px; background: var(--holds); }
.bar.broken { background: var(--broken); } .bar.damage { background: var(--bad); }
.bar-value { margin-left: .4rem; white-space: nowrap; flex: none; width: 6.1rem; }
.axis { display: flex; justify-content: space-between; border-top: 1px solid var(--line); color: var(--faint); font-size: .8rem; }
.bars .axis { margin-right: 6.5rem; }
.timeline { display: grid; grid-template-columns: max-content 1fr; gap: .25rem .7rem; max-width: 46rem; font-size: .88rem; }
.lane-name { color: var(--faint); }
.lane { position: relative; height: 1.4rem; background: linear-gradient(var(--line), var(--line)) 0 50% / 100% 1px no-repeat; }
.span { position: absolute; top: .15rem; bottom: .15rem; min-width: 2px; border-radius: 3px; }
.lane .mark { position: absolute; top: 0; bottom: 0; width: 3px; margin-left: -1px; background: var(--text); }
.span.holds { background: var(--holds); } .span.waits { background: var(--waits); }
.span.believes { background: var(--believes); } .span.stopped { background: var(--stopped); }
.notes { grid-column: 2; margin: 0; padding: 0; list-style: none; color: var(--faint); }
.legend { margin: .2rem 0 .6rem; font-size: .85rem; color: var(--faint); }
.legend span { margin-right: 1rem; display: inline-block; }
.legend span::before { content: ""; display: inline-block; width: .8em; height: .8em; margin-right: .4em; border-radius: 2px; }
.legend .holds::before, .legend .sound::before { background: var(--holds); } .legend .waits::before { background: var(--waits); }
.legend .believes::before { background: var(--believes); } .legend .stopped::before { background: var(--stopped); }
.legend .broken::before { background: var(--broken); } .legend .mark::before { width: 3px; background: var(--text); }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th, td { padding: .3rem .5rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
dt { font-weight: 600; margin-top: .5rem; } dd { margin: 0; color: var(--faint); }
@media (max-width: 44rem) {
  .bars { grid-template-columns: 1fr; gap: 0; } .bar-name { text-align: left; margin-top: .35rem; }
  .bars > .bar-name:empty { display: none; } .bars .axis { margin-top: .3rem; }
  thead { display: none; } tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  td { display: flex; justify-content: space-between; gap: 1rem; padding: .1rem 0; border: 0; text-align: right; }
  td.optional { display: none; } td:first-child { font-weight: 600; text-align: left; } td[data-name]::before { content: attr(data-name); color: var(--faint); font-weight: 400; text-align: left; }
}
`
