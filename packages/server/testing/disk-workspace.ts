/** Workspace for tests of tools: a real directory, and a ledger that tests fill. Runs no commands. */
import { lstat, mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { FileStat, LedgerEntry, Workspace } from '../src/workspace/index.ts'

const kindOf = (entry: { isFile(): boolean; isDirectory(): boolean }): FileStat['kind'] =>
  entry.isFile() ? 'file' : entry.isDirectory() ? 'directory' : 'other'

const nullIfMissing = (error: NodeJS.ErrnoException): null => {
  if (error.code === 'ENOENT') return null
  throw error
}

export function diskWorkspace(workingDir: string, ledger: Record<string, LedgerEntry> = {}): Workspace {
  const noCommands = (): Promise<never> => Promise.reject(new Error('this workspace runs no commands'))
  return {
    workingDir,
    exec: noCommands,
    terminal: noCommands,
    spawn: noCommands,
    ledger: () => Promise.resolve(ledger),
    interrupt: () => Promise.resolve(),
    release: () => Promise.resolve(),
    resolve: (path) => resolve(workingDir, path),
    async stat(path) {
      const entry = await stat(path).catch(nullIfMissing)
      return entry === null ? null : { kind: kindOf(entry), size: entry.size, mode: entry.mode, mtimeMs: entry.mtimeMs }
    },
    realPath: (path) => realpath(path).catch(nullIfMissing),
    readFile: (path) => readFile(path),
    async writeFile(path, data) {
      const target = await realpath(path).catch(() => path)
      const mode = (await lstat(target).catch(() => null))?.mode
      await mkdir(dirname(target), { recursive: true })
      await writeFile(`${target}.tmp`, data, mode === undefined ? {} : { mode })
      await rename(`${target}.tmp`, target)
    },
    remove: (path) => rm(path),
    list: async (path) =>
      (await readdir(path, { withFileTypes: true })).map((entry) => ({ name: entry.name, kind: kindOf(entry) })),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}
