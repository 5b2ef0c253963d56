import { fileURLToPath } from 'node:url'
import { openSqlite } from '../../packages/server/src/storage/index.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { storageContract } from './contract.ts'
import type { Place } from '../../packages/server/testing/store-fixtures.ts'

const WRITER = fileURLToPath(new URL('./sqlite-writer.ts', import.meta.url))

async function makeSqlitePlace(): Promise<Place> {
  const dir = await tempDir()
  const path = dir.file('data', 'parley.db')
  return {
    open: () => openSqlite({ path }),
    writer: [process.execPath, WRITER, path],
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  }
}

storageContract('sqlite', makeSqlitePlace)
