"use strict";
// Who rates.

document.getElementById("begin").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const { annotator } = await send("/rating/begin", { name: document.getElementById("name").value });
    location.href = `/rating/of/${annotator}/`;
  } catch (error) {
    notice(error.message, true);
  }
});
