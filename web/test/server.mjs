// A stand-in for the server of the dash: the built page under the same content security policy, and made-up answers.

import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const page = join(fileURLToPath(import.meta.url), "..", "..", "..", "app", "dash", "page");
const POLICY = "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml" };

/** Serves a state and runs by id. Returns { url, send(event, data), drop(), close() }. */
export async function serve({ state, runs = [], worker }) {
  const streams = new Set();
  const asked = new Set();
  const known = new Map(runs.map((run) => [run.id, run]));
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://127.0.0.1");
    const json = (value) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (pathname === "/api/state") {
      json(state);
    } else if (pathname === "/api/stream") {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write("retry: 200\n\n");
      streams.add(response);
      response.on("close", () => streams.delete(response));
      write(response, "state", state);
      const run = known.get(searchParams.get("run"));
      if (run) {
        write(response, "run", run);
      }
    } else if (/^\/api\/runs\/[^/]+\/workers\/\d+$/.test(pathname)) {
      json({ rank: Number(pathname.split("/").at(-1)), curve: worker });
    } else if (pathname.startsWith("/api/runs/") && known.has(pathname.split("/")[3])) {
      const run = known.get(pathname.split("/")[3]);
      json(asked.has(run.id) ? run : partOf(run)); // like the server, which reads a long record in the background
      asked.add(run.id);
    } else {
      asset(pathname, response);
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    send: (event, data) => {
      state = event === "state" ? data : state;
      streams.forEach((stream) => write(stream, event, data));
    },
    drop: () => streams.forEach((stream) => stream.destroy()),
    close: () => {
      streams.forEach((stream) => stream.destroy());
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A run whose record is not read yet. */
const partOf = (run) => ({ ...run, reading: 0.5, curve: { ...Object.fromEntries(Object.keys(run.curve).map((name) => [name, []])), points: 0, whole: true } });

function write(stream, event, data) {
  stream.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

function asset(pathname, response) {
  const name = pathname === "/" ? "index.html" : pathname.slice(1);
  try {
    const body = readFileSync(join(page, name));
    response.writeHead(200, { "Content-Type": TYPES[extname(name)] ?? "text/plain", "Content-Security-Policy": POLICY });
    response.end(body);
  } catch {
    response.writeHead(404);
    response.end("no such page");
  }
}
