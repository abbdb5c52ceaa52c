/** The page's looks. Colours have names, and the names have other values in the dark. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #fbfbfa; --text: #1d1f23; --faint: #6a6f78; --line: #d9dbe0; --card: #ffffff;
  --holds: #2f6fbb; --waits: #b9bec8; --believes: #c8372d; --stopped: #d9a12b; --good: #2f6fbb; --bad: #c8372d;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #16181c; --text: #e7e8ea; --faint: #9aa0aa; --line: #353941; --card: #1e2126;
    --holds: #6ea8e8; --waits: #565c67; --believes: #f0736a; --stopped: #e5b955; --good: #6ea8e8; --bad: #f0736a;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 72rem; background: var(--ground); color: var(--text);
  font: 16px/1.55 system-ui, "Noto Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif; }
h1 { margin: 0; font-size: 1.7rem; } h2 { margin: 0 0 .4rem; font-size: 1.3rem; } h3 { margin: 1.4rem 0 .3rem; font-size: 1rem; }
.made { margin: 0 0 1rem; color: var(--faint); }
section { margin: 1.5rem 0; padding: 1.1rem; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
article { border-top: 1px solid var(--line); margin-top: 1.2rem; }
figure { margin: .5rem 0; } figcaption { font-weight: 600; }
.good .verdict { color: var(--good); } .bad .verdict { color: var(--bad); font-weight: 600; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--text); font-size: 13px; dominant-baseline: middle; }
svg .name { text-anchor: end; } svg .note, svg .lane { fill: var(--faint); } svg .end { text-anchor: end; }
.bar { fill: var(--good); } .bar.bad { fill: var(--bad); }
.axis { stroke: var(--line); } .mark { stroke: var(--text); stroke-width: 3; }
rect.holds { fill: var(--holds); } rect.waits { fill: var(--waits); } rect.believes { fill: var(--believes); } rect.stopped { fill: var(--stopped); }
.legend { margin: .2rem 0 0; font-size: .8rem; color: var(--faint); }
.legend span { margin-right: 1rem; white-space: nowrap; }
.legend span::before { content: ""; display: inline-block; width: .8em; height: .8em; margin-right: .4em; border-radius: 2px; }
.legend .holds::before { background: var(--holds); } .legend .waits::before { background: var(--waits); }
.legend .believes::before { background: var(--believes); } .legend .stopped::before { background: var(--stopped); }
.wide { overflow-x: auto; margin-top: 1.4rem; } .timeline { max-width: 46rem; } table { border-collapse: collapse; width: 100%; font-size: .85rem; }
th, td { padding: .3rem .5rem; text-align: left; border-bottom: 1px solid var(--line); white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
dt { font-weight: 600; margin-top: .5rem; } dd { margin: 0; color: var(--faint); }
`
