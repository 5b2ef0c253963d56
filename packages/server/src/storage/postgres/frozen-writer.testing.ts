/** Run as a process: `node frozen-writer.testing.ts <url>`. Freezes itself inside of a transaction that has locked every record. */
import { openPostgres } from './open.ts'

const store = await openPostgres({ url: process.argv[2] ?? '' })
await store.conversations.changeRecords((record) => {
  process.kill(process.pid, 'SIGSTOP')
  return `${record} `
})
await store[Symbol.asyncDispose]()
