// Around Textual's terminal: keeps the token out of the address, hands it to the app's socket, tells why it ended.
"use strict";

const given = new URLSearchParams(location.search).get("token");
if (given) sessionStorage.setItem("token", given); // of this origin with its port, which a cookie is not
history.replaceState(null, "", "/");
const token = sessionStorage.getItem("token") || "";

document.getElementById("terminal").dataset.sessionWebsocketUrl = `ws://${location.host}/ws`;

window.WebSocket = class extends WebSocket {
  constructor(url) {
    super(`${url}&token=${encodeURIComponent(token)}`);
    let opened = false;
    this.addEventListener("open", () => {
      opened = true;
      document.querySelector(".xterm-helper-textarea").focus();
    });
    this.addEventListener("close", (event) => {
      const lost = opened
        ? "The connection to agent-exec is lost. If it was ended, start it again and open its new address."
        : "There is no way in from here. Open the whole address that agent-exec printed, with its token.";
      document.getElementById("why").textContent = event.reason || lost;
      document.body.classList.add("-closed"); // as Textual does after us; what is hidden takes no focus
      document.getElementById("again").focus();
    });
  }
};

document.getElementById("again").addEventListener("click", () => location.reload());
