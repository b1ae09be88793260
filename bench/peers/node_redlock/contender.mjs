// One process of redlock-bench contend, on node-redlock with its defaults. It reports when it is connected, begins with
// the first line of its input, and ends with its input. It prints its history in the form of the library's contender.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import Redlock, { ExecutionError } from 'redlock';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    resource: { type: 'string' },
    workers: { type: 'string' },
    hold: { type: 'string' },
    ttl: { type: 'string' },
    nodes: { type: 'string' },
  },
});
const hold = Number(values.hold);
const ttl = Number(values.ttl);

let commands = 0;
const clients = [values.nodes, ...positionals].map((url) => {
  const client = new Redis(url);
  const send = client.sendCommand;
  client.sendCommand = function counted(...all) {
    ++commands;
    return send.apply(this, all);
  };
  return client;
});
const redlock = new Redlock(clients);
const now = () => Number(process.hrtime.bigint());

const turns = [];
const waiting = new Map();
let failures = 0;
let stopping = false;

async function acquire() {
  for (;;) {
    try {
      return await redlock.acquire([values.resource], ttl);
    } catch (e) {
      if (!(e instanceof ExecutionError)) {
        throw e;
      }
      if (stopping) {
        return null;
      }
      ++failures;
    }
  }
}

async function work(worker) {
  while (!stopping) {
    const called = now();
    waiting.set(worker, called);
    const lock = await acquire();
    if (lock === null) {
      return;
    }
    const granted = now();
    waiting.delete(worker);
    if (hold > 0) {
      await sleep(hold);
    }
    const released = now();
    try {
      await lock.release();
    } catch (e) {
      if (!(e instanceof ExecutionError)) {
        throw e;
      }
      ++failures;
    }
    turns.push([worker, called, granted, released]);
  }
}

// The versions that package.json pins.
function versions() {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url)));
  return { 'node-redlock': dependencies.redlock, ioredis: dependencies.ioredis, node: process.version };
}

await Promise.all(clients.map((client) => client.ping()));
process.stdout.write(JSON.stringify(versions()) + '\n');

process.stdin.once('data', () => {
  commands = 0;
  for (let i = 0; i < Number(values.workers); ++i) {
    work(i);
  }
});
process.stdin.once('end', () => {
  stopping = true;
  process.stdout.write(JSON.stringify({ turns, waiting: [...waiting.values()], commands, failures }) + '\n', () => process.exit(0));
});
