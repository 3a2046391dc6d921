// What the tests of pages that are served share: processes of the command, and the addresses that they serve.
import { spawn } from "node:child_process";

export const children = new Set();

// A process and the address that it serves.
export const start = async (args, env = {}) => {
  const child = spawn(process.env.EOG, args, { env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
  children.add(child);
  const said = { out: "", err: "" };
  child.stdout.on("data", (data) => { said.out += data; });
  child.stderr.on("data", (data) => { said.err += data; });
  const ended = new Promise((done) => child.on("exit", (code) => { children.delete(child); done(code); }));
  const url = await new Promise((done, fail) => {
    const check = () => {
      const found = said.err.match(/(?:live page|investigations) at (\S+)\n/);
      if (found) done(found[1]);
    };
    child.stderr.on("data", check);
    child.on("exit", () => fail(new Error(`eog ended: ${said.err}`)));
  });
  return { child, url, said, ended };
};
process.on("exit", () => children.forEach((child) => child.kill("SIGKILL")));

// What a page of this address may ask for.
export const within = (url) => { const { origin } = new URL(url); return (one) => one.startsWith(`${origin}/`); };
