/** A temporary directory that is removed with its scope. */
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { searchData } from './canaries/watch.ts'
import { releaseStores } from './store-choice.ts'

export type TempDir = AsyncDisposable & {
  readonly path: string
  /** Absolute path of an entry. */
  file(...parts: string[]): string
}

/** Creates an empty directory. Disposal searches data directories for canaries, then removes it with its content. */
export async function tempDir(): Promise<TempDir> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'parley-')))
  return {
    path,
    file: (...parts) => join(path, ...parts),
    async [Symbol.asyncDispose]() {
      await searchData(path)
      await releaseStores(path)
      await rm(path, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}
