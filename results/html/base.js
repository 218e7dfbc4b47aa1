// The page's own script, in several files that are put together into one function. First, building blocks.
// Every text of a model or a user goes into the page as a text node, never as markup.
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const { panels, outcomes, stats } = data;
const status = byId("status");
document.documentElement.classList.add("js");

function node(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const integer = (value) => value.toLocaleString("en-US");
const percent = (value) => (value === 0 || value === 100 ? String(value) : value.toFixed(1));
const depthWords = (axes, row) => (axes.depths[row] === null ? "all depths" : `depth ${axes.depthLabels[row]} %`);

// A number into `stats` to an object; null for a cell that never ran.
function statOf(number) {
  if (number < 0) return null;
  const [n, mean, low, high, counts] = stats[number];
  return { n, mean, low, high, count: (name) => counts[outcomes.indexOf(name)] || 0 };
}

const trialsIn = (stat) => outcomes.reduce((sum, name) => sum + stat.count(name), 0);

// A range where answers are undecided: `data.undecided` names their outcomes.
function scoreWords(stat) {
  const open = (data.undecided || []).reduce((sum, name) => sum + stat.count(name), 0);
  if (open) {
    const [hits, all] = [(stat.mean || 0) * stat.n, stat.n + open];
    const ends = `score ${percent(hits / all)}–${percent((hits + 100 * open) / all)} % (${integer(open)} of ${integer(all)} undecided: all missed to all hit)`;
    return stat.mean === null ? `${ends}, none scored` : `${ends} · of the scored ${percent(stat.mean)} %, n = ${integer(stat.n)}`;
  }
  if (stat.mean === null) return "no score, n = 0";
  const ends = stat.low === null ? "one sample: no interval" : `95 % interval ${percent(stat.low)}–${percent(stat.high)}`;
  return `score ${percent(stat.mean)} % (${ends}), n = ${integer(stat.n)}`;
}

const outcomeWords = (stat) =>
  outcomes.filter((name) => stat.count(name)).map((name) => `${integer(stat.count(name))} ${name}`).join(" · ");
