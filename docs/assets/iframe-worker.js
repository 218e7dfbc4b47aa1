// Search runs in a worker, which browsers refuse to pages that are opened as files. There, a hidden frame is the worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.loaded = new Promise((resolve) => {
        const begin = () => {
          const inside = this.frame.contentWindow;
          inside.postMessage = (data) => {
            const message = new MessageEvent("message", { data });
            this.dispatchEvent(message);
            if (this.onmessage) this.onmessage(message);
          };
          inside.importScripts = (...urls) => Promise.all(urls.map((each) => this.run(each)));
          this.run(url).then(resolve);
        };
        const add = () => { document.body.append(this.frame); begin(); };
        document.body ? add() : addEventListener("DOMContentLoaded", add);
      });
    }
    run(url) {
      const script = this.frame.contentDocument.createElement("script");
      script.src = new URL(url, document.baseURI);
      return new Promise((resolve, reject) => {
        script.onload = resolve;
        script.onerror = reject;
        this.frame.contentDocument.body.append(script);
      });
    }
    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() { this.frame.remove(); }
  };
}
