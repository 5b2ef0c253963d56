/** Run as a process by the crash test: `node postgres-writer.ts <url>`. */
import { openPostgres } from '../../packages/server/src/storage/postgres/open.ts'
import { streamAppends } from './stream-appends.ts'

await streamAppends(await openPostgres({ url: process.argv[2] ?? '' }))
