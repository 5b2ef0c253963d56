/** Run as a process: `node held-lease.testing.ts <url> <node> <milliseconds>`. Holds the lease of a node until it is killed. */
import { openLease } from './lease.ts'

const [url = '', node = '', leaseMs = ''] = process.argv.slice(2)
await openLease({ url, name: 'test', node: Number(node), leaseMs: Number(leaseMs) })
setInterval(() => undefined, 60_000)
