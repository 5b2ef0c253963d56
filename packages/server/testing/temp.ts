/** A place on disk that goes away with its scope. */
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { searchData } from './canaries/watch.ts'

export type TempDir = AsyncDisposable & {
  readonly path: string
  /** Absolute path of something inside. */
  file(...parts: string[]): string
}

/** A fresh, empty directory; disposing it removes it with everything inside. Data directories are searched for canaries first. */
export async function tempDir(): Promise<TempDir> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'parley-')))
  return {
    path,
    file: (...parts) => join(path, ...parts),
    async [Symbol.asyncDispose]() {
      await searchData(path)
      await rm(path, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}
