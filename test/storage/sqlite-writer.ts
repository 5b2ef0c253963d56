/** Run as a process by the crash test: `node sqlite-writer.ts <path>`. */
import { openSqlite } from '../../packages/server/src/storage/index.ts'
import { streamAppends } from './stream-appends.ts'

await streamAppends(await openSqlite({ path: process.argv[2] ?? '' }))
