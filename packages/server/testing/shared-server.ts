/** One server process for the tests of a file that neither kill nor configure it. */
import { afterAll, beforeAll } from 'vitest'
import { startServerProcess, type ServerProcess } from './server-process.ts'
import { tempDir, type TempDir } from './temp.ts'

export type SharedServer = { server: ServerProcess; dataDir: string }

/**
 * Starts a server before the first test of the calling file or suite, and stops it after the last one.
 * @returns a function that returns the server, for the tests
 */
export function shareServer(env: Record<string, string> = {}): () => SharedServer {
  let dir: TempDir
  let shared: SharedServer
  beforeAll(async () => {
    dir = await tempDir()
    const dataDir = dir.file('data')
    shared = { server: await startServerProcess({ dataDir, env }), dataDir }
  })
  afterAll(async () => {
    await shared.server[Symbol.asyncDispose]()
    await dir[Symbol.asyncDispose]()
  })
  return () => shared
}
