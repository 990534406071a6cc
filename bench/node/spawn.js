// Spawns a program with child_process.spawn, stdout and stderr captured; a worker like the others.
"use strict";
const { spawn } = require("node:child_process");
const readline = require("node:readline");

const [program, ...words] = process.argv.slice(2);

function once() {
  return new Promise((resolve, reject) => {
    const start = process.hrtime.bigint();
    let printed = 0;
    const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.on("data", (chunk) => (printed += chunk.length));
    child.stderr.on("data", (chunk) => (printed += chunk.length));
    child.on("error", reject);
    child.on("close", (code) => {
      if (code !== 0 || printed) reject(new Error("the program failed, or printed something"));
      else resolve(Number(process.hrtime.bigint() - start) / 1e9);
    });
  });
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const seconds = [];
    try {
      for (let i = 0; i < Number(line); i++) seconds.push(await once());
      process.stdout.write(JSON.stringify({ seconds }) + "\n");
    } catch (error) {
      process.stdout.write(JSON.stringify({ error: String(error) }) + "\n");
    }
  }
}

main();
