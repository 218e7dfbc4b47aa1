"use strict";
// What all pages share.

// Sends a change; gives what the server answers, and throws an Error with one line where it was not kept.
async function send(path, body) {
  const token = document.querySelector('meta[name="token"]').content;
  let answer;
  try {
    answer = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-needlework-token": token },
      body: JSON.stringify(body),
    });
  } catch {
    throw new Error("not kept: the server does not answer; start needlework serve again");
  }
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(told.error || `not kept (${answer.status})`);
  return told;
}

// One line at the top of the page; a problem stays until the next one.
function notice(line, problem = false) {
  const place = document.getElementById("notice");
  place.textContent = line;
  place.classList.toggle("bad", problem);
}
