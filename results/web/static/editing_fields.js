"use strict";
// The fields of a pair, as templates/editing_fields.html.j2 has them.

const fieldsOf = (place) => [...place.querySelectorAll("textarea, input")];
const touched = (field) => field.value !== field.loaded;

// A field shows \r\n as \n: what nobody touched is given back as it was, what was edited keeps the line ends it had.
function fieldText(field) {
  if (!touched(field)) return field.given;
  return /\r\n/.test(field.given) && !/(^|[^\r])\n/.test(field.given) ? field.value.replaceAll("\n", "\r\n") : field.value;
}

function fillFields(place, texts) {
  fieldsOf(place).forEach((field, at) => {
    field.given = field.value = texts[at];
    field.loaded = field.value;
    field.used = false;
  });
}

// Puts a text into a pair's answer: where its cursor was, else at its end.
function quoteInto(place, text) {
  const field = place.querySelector(".answer");
  const end = field.used ? field.selectionEnd : field.value.length;
  field.setRangeText(text, field.used ? field.selectionStart : end, end, "end");
  field.used = true;
  field.focus();
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

// The cursor of an answer is where it was left.
document.addEventListener("focusin", (event) => { if (event.target.matches(".answer")) event.target.used = true; });
