"use strict";
// What all pages share.

// Sends a change; gives what the server answers. Where it was not kept, throws an Error with one line; its `told` is
// what the server answered. `last`: the page is being left; a browser carries some kilobytes beyond its end.
async function send(path, body, last = false) {
  const text = JSON.stringify(body);
  const token = document.querySelector('meta[name="token"]');
  const post = () => fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-needlework-token": token.content },
    body: text,
    keepalive: last && text.length < 20_000,
  });
  let answer;
  try {
    answer = await post();
    if (answer.status === 403) {
      // The server was started again: the page takes the token of this start, and what was typed is not lost.
      const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
      token.content = page.querySelector('meta[name="token"]')?.content || token.content;
      answer = await post();
    }
  } catch {
    throw new Error("not kept: the server does not answer; start needlework serve again");
  }
  const told = await answer.json().catch(() => ({}));
  const line = answer.status === 403 ? `not kept: ${told.error}` : told.error;
  if (!answer.ok) throw Object.assign(new Error(line || `not kept (${answer.status})`), { told });
  return told;
}

// One line at the top of the page; a problem stays until the next one.
function notice(line, problem = false) {
  const place = document.getElementById("notice");
  place.textContent = line;
  place.classList.toggle("bad", problem);
}
