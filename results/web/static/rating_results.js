"use strict";
// Results are shown once someone asks; files are written beside the answers.

document.getElementById("show")?.addEventListener("click", async () => {
  try {
    await send("/rating/show", {});
    location.reload();
  } catch (error) {
    notice(error.message, true);
  }
});

for (const button of document.querySelectorAll("button.write")) {
  button.addEventListener("click", async () => {
    try {
      const { path } = await send(button.dataset.path, { over: button.dataset.over === "yes" });
      notice(`written: ${path}`);
      button.textContent = "written";
      delete button.dataset.over;
    } catch (error) {
      notice(error.message, true);
      if (!error.told?.exists) return;
      button.dataset.over = "yes"; // the second click replaces the file
      button.textContent = "replace it";
    }
  });
}
