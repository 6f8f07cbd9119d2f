#include "tools/inspect_html.h"

#include <cstdio>

namespace pteron::tools {
namespace {

// Pictures are drawn by the page itself from the report inside it: nothing is fetched.
constexpr char kPage[] = R"PAGE(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>pteron</title>
<style>
:root { --ink: #1d2430; --soft: #5c6675; --line: #d9dee6; --page: #fbfbf9; --card: #fff; --accent: #2d6cdf; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #9aa4b2; --line: #333b47; --page: #14181e; --card: #1c222a; --accent: #7aa7ff; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 1080px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; } h3 { font-size: 1rem; margin: 1rem 0 .3rem; }
.soft { color: var(--soft); } table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; } code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; margin: .6rem 0; }
svg { width: 100%; display: block; } svg text { fill: #fff; font: 11px system-ui; pointer-events: none; } .scroll { max-height: 420px; overflow: auto; }
#tip { position: fixed; background: var(--ink); color: var(--page); padding: .2rem .5rem; border-radius: 4px; font-size: 12px; pointer-events: none; display: none; max-width: 30rem; overflow-wrap: anywhere; }
</style></head><body>
<h1 id="title"></h1><p class="soft" id="lead"></p>
<h2>Where the bytes are</h2><section><div id="sizes"></div><div id="kinds"></div></section>
<h2>Methods</h2><div id="methods"></div>
<h2>Named data</h2><section class="scroll"><table id="named"></table></section>
<div id="tip"></div>
<script id="report" type="application/json">@REPORT@</script>
<script>
"use strict";
const report = JSON.parse(document.getElementById("report").textContent), title = @TITLE@;
const colours = ["#2d6cdf", "#c2571a", "#23836b", "#8a4fbf", "#b0323f", "#5b6b2f", "#386a8a", "#93702a"];
const size = b => { const u = ["B", "kB", "MB", "GB"]; let i = 0; while (b >= 1000 && i < 3) { b /= 1000; ++i; } return (i ? b.toFixed(1) : b) + " " + u[i]; };
const colour = s => { let h = 7; for (const c of String(s)) h = (h * 31 + c.charCodeAt(0)) >>> 0; return colours[h % colours.length]; };
const make = (tag, text, parent) => { const e = document.createElement(tag); if (text !== undefined) e.textContent = text; if (parent) parent.append(e); return e; };
const tip = document.getElementById("tip");
function svg(width, height, parent) { const s = document.createElementNS("http://www.w3.org/2000/svg", "svg"); s.setAttribute("viewBox", `0 0 ${width} ${height}`); parent.append(s); return s; }
function box(s, x, y, w, h, fill, about) {
  const r = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [k, v] of Object.entries({x, y, width: Math.max(w, .4), height: Math.max(h, .4), fill, stroke: "var(--card)", "stroke-width": .5})) r.setAttribute(k, v);
  r.addEventListener("mousemove", e => { tip.textContent = about; tip.style.display = "block"; tip.style.left = Math.min(e.clientX + 12, innerWidth - 320) + "px"; tip.style.top = e.clientY + 14 + "px"; });
  r.addEventListener("mouseleave", () => tip.style.display = "none");
  s.append(r);
}
function label(s, x, y, text) { const t = document.createElementNS("http://www.w3.org/2000/svg", "text"); t.setAttribute("x", x); t.setAttribute("y", y); t.textContent = text; s.append(t); }
// A squarified size map: rows are filled along the shorter side while the boxes stay near to squares.
function sizeMap(items, parent) {
  const W = 1000, H = 320, s = svg(W, H, parent), total = items.reduce((a, i) => a + i.bytes, 0);
  let x = 0, y = 0, w = W, h = H, rest = items.filter(i => i.bytes > 0).sort((a, b) => b.bytes - a.bytes).map(i => ({...i, area: i.bytes / total * W * H}));
  const worst = (row, side) => { const sum = row.reduce((a, i) => a + i.area, 0), t = sum / side; return Math.max(...row.map(i => { const l = i.area / t; return Math.max(l / t, t / l); })); };
  while (rest.length) {
    const side = Math.min(w, h), row = [rest.shift()];
    while (rest.length && worst([...row, rest[0]], side) <= worst(row, side)) row.push(rest.shift());
    const t = row.reduce((a, i) => a + i.area, 0) / side; let at = 0;
    for (const i of row) {
      const l = i.area / t, bx = w >= h ? x : x + at, by = w >= h ? y + at : y, bw = w >= h ? t : l, bh = w >= h ? l : t;
      box(s, bx, by, bw, bh, i.colour, `${i.name}: ${size(i.bytes)}`);
      if (bw > 90 && bh > 16) label(s, bx + 4, by + 13, i.name.length * 6.2 > bw ? i.name.slice(0, bw / 6.2 - 1) + "…" : i.name);
      at += l;
    }
    if (w >= h) { x += t; w -= t; } else { y += t; h -= t; }
  }
}
document.getElementById("title").textContent = title;
document.getElementById("lead").textContent = `${size(report.bytes.total)} · signature: ${report.manifest.state}` + (report.contract ? ` · ${report.contract.architecture || ""} under ${report.contract.contract} version ${report.contract.version}, context ${report.contract.context_length}` : "");
const items = [];
for (const c of report.constants) items.push({name: c.name || `constant ${c.index}`, bytes: c.bytes, colour: colours[0]});
for (const n of report.named_data) items.push({name: n.key, bytes: n.bytes, colour: colours[2]});
items.push({name: "delegates", bytes: report.bytes.delegates, colour: colours[1]}, {name: "metadata", bytes: report.bytes.metadata, colour: colours[3]}, {name: "initial state", bytes: report.bytes.mutable_data, colour: colours[4]});
sizeMap(items, document.getElementById("sizes"));
const kinds = make("table", undefined, document.getElementById("kinds"));
for (const [k, b] of Object.entries(report.bytes)) { const r = make("tr", undefined, kinds); make("td", k.replaceAll("_", " "), r); make("td", size(b), r).className = "n"; }
const named = document.getElementById("named");
for (const n of report.named_data) { const r = make("tr", undefined, named); make("code", n.key, make("td", undefined, r)); make("td", size(n.bytes), r).className = "n"; }
const slot = v => v.kind === "tensor" ? `${v.dtype} [${v.shape}]${v.planned ? ", planned" : ""}` : v.kind + (v.value === undefined ? "" : ` ${JSON.stringify(v.value)}`);
function slots(name, list, parent) {
  make("h3", `${name} (${list.length})`, parent); const t = make("table", undefined, parent);
  for (let i = 0; i < list.length;) { let e = i + 1; while (e < list.length && slot(list[e]) === slot(list[i])) ++e;
    const r = make("tr", undefined, t); make("td", e - i > 1 ? `${i}–${e - 1}` : `${i}`, r); make("code", slot(list[i]), make("td", undefined, r)); i = e; }
}
// Planned memory: instructions from left to right, addresses from top to bottom.
function memoryPlan(m, parent) {
  m.arena_bytes.forEach((bytes, k) => {
    const boxes = m.memory.filter(b => b.arena === k + 1);
    if (!boxes.length || !bytes) return;
    make("h3", `Arena ${k + 1}: ${size(bytes)} over ${m.instructions} instructions`, parent);
    const s = svg(1000, 220, parent);
    for (const b of boxes) box(s, b.first / m.instructions * 1000, b.offset / bytes * 220, (b.last - b.first + 1) / m.instructions * 1000, b.bytes / bytes * 220, colour(b.bytes), `value ${b.value}: ${size(b.bytes)} at ${b.offset}, instructions ${b.first}–${b.last}`);
  });
}
// The graph: one box a call in order of execution, an arc from the call that made a value to each that reads it.
function graph(m, parent) {
  const calls = m.listing.filter(i => i.kind === "kernel_call" || i.kind === "delegate_call").slice(0, 600);
  if (!calls.length) return;
  make("h3", `Graph (${calls.length === m.listing.length ? "all" : "first " + calls.length + " of " + m.listing.length} instructions)`, parent);
  const holder = make("div", undefined, parent); holder.className = "scroll";
  const step = 20, s = svg(1000, calls.length * step + 8, holder); s.style.minWidth = "600px";
  const made = new Map(), arcs = [];
  calls.forEach((c, i) => {
    const outs = c.kind === "kernel_call" ? c.args.slice(-1) : [];
    for (const a of c.args) if (made.has(a) && made.get(a) !== i) arcs.push([made.get(a), i]);
    for (const o of c.kind === "delegate_call" ? c.args : outs) made.set(o, i);
  });
  for (const [a, b] of arcs) {
    const p = document.createElementNS("http://www.w3.org/2000/svg", "path"), ya = a * step + 12, yb = b * step + 12, bend = Math.min(400, 20 + (yb - ya) / 3);
    p.setAttribute("d", `M330 ${ya} C${330 + bend} ${ya}, ${330 + bend} ${yb}, 330 ${yb}`); p.setAttribute("fill", "none"); p.setAttribute("stroke", "var(--soft)"); p.setAttribute("stroke-width", ".7"); p.setAttribute("opacity", ".6"); s.append(p);
  }
  calls.forEach((c, i) => { const name = c.operator || c.delegate; box(s, 0, i * step + 3, 330, step - 4, colour(name), `${i}: ${name} [${c.args}]`); label(s, 6, i * step + 15, `${i}  ${name}`); });
}
for (const m of report.methods) {
  if (m.constant) continue;
  const section = make("section", undefined, document.getElementById("methods"));
  make("h2", m.name, section).style.marginTop = "0";
  make("p", `${m.instructions} instructions, ${m.values} values, ${size(m.arena_bytes.reduce((a, b) => a + b, 0))} planned` + (m.delegates.length ? `, delegates: ${m.delegates.map(d => d.id + " " + size(d.bytes)).join(", ")}` : ""), section).className = "soft";
  slots("Inputs", m.inputs, section); slots("Outputs", m.outputs, section); memoryPlan(m, section); graph(m, section);
}
</script></body></html>
)PAGE";

// JSON that may stand inside a script element: no `<` in it.
std::string script_json(const Json& json) {
  const std::string plain = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string text;
  for (char c : plain) {
    if (c == '<') text += "\\u003c";
    else text += c;
  }
  return text;
}

void replace(std::string& page, std::string_view mark, const std::string& text) { page.replace(page.find(mark), mark.size(), text); }

}  // namespace

Status write_inspect_html(const std::string& path, const std::string& title, const Json& report) {
  std::string page = kPage;
  replace(page, "@TITLE@", script_json(title));
  replace(page, "@REPORT@", script_json(report));
  return write_output(path, page);
}

}  // namespace pteron::tools
