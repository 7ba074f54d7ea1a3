// The connection to the server: one stream of events, and questions for what a stream does not have.

const AGAIN = 2000; // ms until the next try, as the server asks in its stream

/** Answer of a path of the API. Throws an error whose message is the server's sentence. */
export async function ask(path) {
  const answer = await fetch(path, { headers: { Accept: "application/json" } });
  if (!answer.ok) {
    const error = new Error((await answer.text()).trim() || `the server answers ${answer.status}`);
    error.status = answer.status;
    throw error;
  }
  return answer.json();
}

/**
 * Stream of one run, or only of the folder. The listeners are run(message), state(message), ended(text) and
 * link(state, text), where state is live, lost, refused or over.
 */
export class Stream {
  #source = null;
  #timer = 0;
  #id = null;

  constructor(listeners) {
    this.listeners = listeners;
  }

  /** Follows a run; null follows the folder. */
  follow(id) {
    this.#id = id;
    this.#open();
  }

  #open() {
    clearTimeout(this.#timer);
    this.#source?.close();
    const path = this.#id === null ? "api/stream" : `api/stream?run=${encodeURIComponent(this.#id)}`;
    const source = new EventSource(path);
    this.#source = source;
    const hear = (name, action) => source.addEventListener(name, (event) => {
      if (source === this.#source) {
        action(event.data === undefined ? null : JSON.parse(event.data));
      }
    });
    hear("open", () => this.listeners.link("live"));
    hear("run", (message) => this.listeners.run(message));
    hear("state", (message) => this.listeners.state(message));
    hear("ended", ({ text }) => {
      source.close();
      this.listeners.link("over", text);
    });
    hear("error", () => this.#failed(source));
  }

  /** The browser tries again by itself unless the server refuses; then the page asks why. */
  async #failed(source) {
    this.listeners.link("lost");
    if (source.readyState !== EventSource.CLOSED) {
      return;
    }
    try {
      await ask("api/state");
    } catch (error) {
      if (source === this.#source && (error.status === 401 || error.status === 403)) {
        this.listeners.link("refused", error.message);
        return;
      }
    }
    if (source === this.#source) {
      this.#timer = setTimeout(() => this.#open(), AGAIN);
    }
  }
}
