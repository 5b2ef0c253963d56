/** A place on disk that goes away with its scope. */
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type TempDir = AsyncDisposable & {
  readonly path: string
  /** Absolute path of something inside. */
  file(...parts: string[]): string
}

/** A fresh, empty directory; disposing it removes it with everything inside. */
export async function tempDir(): Promise<TempDir> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'parley-')))
  return {
    path,
    file: (...parts) => join(path, ...parts),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 3 }),
  }
}
