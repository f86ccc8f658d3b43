// Elements. Data becomes text or an attribute, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; a string or a number is text. */
function el(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** An element of SVG. */
function svgEl(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  setAttributes(node, attributes);
  node.append(
    ...children
      .flat()
      .filter((child) => child !== null && child !== undefined)
      .map(asNode),
  );
  return node;
}

function asNode(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}

/** Sets attributes; null and false remove one. A function is the listener of an event. */
function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === null || value === undefined || value === false) node.removeAttribute(name);
    else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value === true ? "" : value);
  }
}

/** Sets the text of an element, if it is another one: a screen reader hears only changes. */
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function setHidden(node, hidden) {
  if (node.hidden !== hidden) node.hidden = hidden;
}

/** Replaces the children of an element, if `key` is another one than the last time. */
function setChildren(node, key, make) {
  if (node.inrushKey === key) return;
  node.inrushKey = key;
  node.replaceChildren(
    ...make()
      .flat()
      .filter((child) => child !== null && child !== undefined)
      .map(asNode),
  );
}

/** A table; `columns` are `[heading, kind]`, where the kind `n` aligns numbers to the right. */
function table(caption, columns, rows, attributes) {
  const head = columns.map(([heading, kind]) => el("th", { scope: "col", class: kind }, heading));
  const cells = (row) =>
    row.map((cell, at) =>
      at === 0 ? el("th", { scope: "row", class: columns[at][1] }, cell) : el("td", { class: columns[at][1] }, cell),
    );
  return el(
    "table",
    attributes,
    el("caption", null, caption),
    el("thead", null, el("tr", null, head)),
    el(
      "tbody",
      null,
      rows.map((row) => el("tr", null, cells(row))),
    ),
  );
}
