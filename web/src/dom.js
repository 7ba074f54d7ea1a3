// Small helpers to build elements without markup in strings, so no text of a run is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** Element with attributes and children. An attribute "on…" is a listener; null and false leave it out. */
export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for an element of a drawing. */
export function s(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const $ = (id) => document.getElementById(id);

/** Sets a text only if it differs: screen readers and layout do not notice it otherwise. */
export function setText(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

/** Sets or removes an attribute only if it differs. */
export function setAttribute(element, name, value) {
  if (value === null || value === false) {
    element.removeAttribute(name);
  } else if (element.getAttribute(name) !== String(value)) {
    element.setAttribute(name, value);
  }
}

/** Runs draw at the next frame, at most once per frame. */
export function framed(draw) {
  let due = false;
  return () => {
    if (!due) {
      due = true;
      requestAnimationFrame(() => {
        due = false;
        draw();
      });
    }
  };
}
