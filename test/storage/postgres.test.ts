import { fileURLToPath } from 'node:url'
import { openPostgres } from '../../packages/server/src/storage/postgres/open.ts'
import { testDatabase } from '../../packages/server/testing/postgres.ts'
import { HERE, type Place } from '../../packages/server/testing/store-fixtures.ts'
import { storageContract } from './contract.ts'

const WRITER = fileURLToPath(new URL('./postgres-writer.ts', import.meta.url))

async function makePostgresPlace(): Promise<Place> {
  const database = await testDatabase()
  return {
    open: () => openPostgres({ url: database.url, place: HERE }),
    writer: [process.execPath, WRITER, database.url],
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

storageContract('postgres', makePostgresPlace)
