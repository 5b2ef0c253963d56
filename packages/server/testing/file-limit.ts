/** A limit of the size of files, which gives a process EFBIG where a full disk gives ENOSPC. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Sets the size in bytes that files written by a process may have; null: any. False when the process has ended.
 * @throws where `prlimit` of util-linux is missing
 */
export async function limitFiles(pid: number, bytes: number | null): Promise<boolean> {
  try {
    await run('prlimit', ['--pid', String(pid), `--fsize=${bytes ?? 'unlimited'}:`])
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw error
    return false
  }
}
