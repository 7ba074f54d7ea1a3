// A real run of peers on this machine, shown by the dash.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

/** The program: that of PEER, or "peer" in the root of the repository, where "go build ./cmd/peer" puts it. */
export const program = process.env.PEER ? resolve(process.env.PEER) : join(here, "..", "..", "peer");

/** Starts "peer lab ARGUMENTS --dash". Returns { url, kill(rank), stop() } once its page is served. */
export async function startLab(args) {
  const folder = mkdtempSync(join(tmpdir(), "dash-"));
  const lab = spawn(program, ["lab", ...args, "--dash=127.0.0.1:0"], { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  const ended = new Promise((done) => lab.on("exit", done));
  const url = await new Promise((found, failed) => {
    lab.stderr.on("data", (text) => {
      said += text;
      const match = said.match(/http:\/\/127\.0\.0\.1:\d+\//);
      if (match) {
        found(match[0]);
      }
    });
    lab.on("error", failed);
    ended.then((code) => failed(new Error(`peer lab ended with ${code}: ${said}`)));
  });
  return {
    url,
    kill: (rank) => process.kill(processOf(lab.pid, rank), "SIGKILL"),
    stop: async () => {
      lab.kill("SIGINT");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The process of a rank: a child of the lab whose command line names the rank. */
function processOf(parent, rank) {
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const father = Number(readFileSync(`/proc/${name}/stat`, "utf8").replace(/.*\) /, "").split(" ")[1]);
      const words = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      if (father === parent && words[words.indexOf("--rank") + 1] === String(rank)) {
        return Number(name);
      }
    } catch {
      // The process has ended since the folder was read.
    }
  }
  throw new Error(`no process of worker ${rank}`);
}
