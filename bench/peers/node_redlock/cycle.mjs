// Uncontended cycles of node-redlock with its defaults, reported in the form of the other reference programs.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import Redlock, { ExecutionError } from 'redlock';

// Repeats an option before each of its values, because parseArgs takes one value for each.
function lists(args) {
  return args.flatMap((arg, i) => {
    const option = args.slice(0, i).findLast((earlier) => earlier.startsWith('--'));
    return arg.startsWith('--') ? [] : [option, arg];
  });
}

const text = { type: 'string' };
const texts = { type: 'string', multiple: true };
const { values } = parseArgs({
  args: lists(process.argv.slice(2)),
  options: { workers: text, seconds: text, warmup: text, nodes: texts, 'server-pids': texts },
});
const workers = Number(values.workers);
const clients = values.nodes.map((url) => new Redis(url));
const redlock = new Redlock(clients);
const ttl = 10_000;

let measured = false;
let stopping = false;
let failures = 0;
let cycles = 0;
let latencies = [];

async function work(worker) {
  const resource = [`node-redlock:${process.pid}:${worker}`];
  while (!stopping) {
    const began = process.hrtime.bigint();
    try {
      const lock = await redlock.acquire(resource, ttl);
      if (measured) {
        latencies.push(Number(process.hrtime.bigint() - began) / 1000);
      }
      await lock.release();
    } catch (e) {
      if (!(e instanceof ExecutionError)) {
        throw e;
      }
      failures += measured ? 1 : 0;
    }
    cycles += measured ? 1 : 0;
  }
}

// User and system time of the nodes, in seconds.
function serversCpu() {
  const ticks = 100;
  return values['server-pids'].reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return sum + (Number(fields[11]) + Number(fields[12])) / ticks;
  }, 0);
}

// The versions that package.json pins.
function versions() {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url)));
  return { 'node-redlock': dependencies.redlock, ioredis: dependencies.ioredis, node: process.version };
}

const sleep = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

await Promise.all(clients.map((client) => client.ping()));
const all = Array.from({ length: workers }, (_, worker) => work(worker));
await sleep(Number(values.warmup));
const used = process.cpuUsage();
const usedByServers = serversCpu();
const began = process.hrtime.bigint();
measured = true;
await sleep(Number(values.seconds));
measured = false;
const seconds = Number(process.hrtime.bigint() - began) / 1e9;
const { user, system } = process.cpuUsage(used);
const servers = serversCpu() - usedByServers;
stopping = true;
latencies.sort((a, b) => a - b);
const percentile = (p) => latencies[Math.max(0, Math.ceil(p * latencies.length) - 1)] ?? 0;
process.stdout.write(
  JSON.stringify({
    name: 'node-redlock',
    versions: versions(),
    nodes: clients.length,
    workers,
    seconds,
    resources: workers,
    ttl_ms: ttl,
    cycles,
    cycles_per_second: cycles / seconds,
    acquire_p50_us: percentile(0.5),
    acquire_p99_us: percentile(0.99),
    acquire_p999_us: percentile(0.999),
    client_cpu_us_per_cycle: (user + system) / Math.max(1, cycles),
    server_cpu_us_per_cycle: (1e6 * servers) / Math.max(1, cycles),
    failures,
    peak_rss_kib: process.resourceUsage().maxRSS,
  }) + '\n',
);
await Promise.all(all);
await Promise.all(clients.map((client) => client.quit()));
