/** Files of this machine, read with the rights of the server's account. */
import { readdir, readFile, stat } from 'node:fs/promises'
import type { Files } from './folder.ts'

const kindOf = (entry: { isFile(): boolean; isDirectory(): boolean }): 'file' | 'directory' | 'other' =>
  entry.isFile() ? 'file' : entry.isDirectory() ? 'directory' : 'other'

export const OWN_FILES: Files = {
  async stat(path) {
    const found = await stat(path).catch(() => null)
    return found === null
      ? null
      : { kind: kindOf(found), size: found.size, mode: found.mode & 0o7777, mtimeMs: found.mtimeMs }
  },
  list: async (path) =>
    (await readdir(path, { withFileTypes: true })).map((entry) => ({ name: entry.name, kind: kindOf(entry) })),
  readFile: (path, signal) => readFile(path, { signal }),
}
