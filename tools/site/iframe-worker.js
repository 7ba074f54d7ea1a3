// A worker for pages that are opened from a folder: browsers start none there, and the search wants one. It runs the
// worker's script in a hidden frame. The generator would take such a script from another host.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.body.append(frame);
      this.scope = frame.contentWindow;
      this.scope.postMessageToPage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const page = this.scope.document;
      page.open();
      page.write(`<script>
        var postMessage = (data) => postMessageToPage(data);
        var importScripts = (...urls) => urls.reduce((before, src) => before.then(() => new Promise((done, failed) =>
          document.head.append(Object.assign(document.createElement("script"), { src, onload: done, onerror: failed })))),
          Promise.resolve());
      <\/script><script src="${new URL(url, location.href)}"><\/script>`);
      page.close();
    }

    postMessage(data) {
      this.scope.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.scope.frameElement.remove();
    }
  };
}
