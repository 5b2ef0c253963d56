/** Results, ledgers of other runners, and disks that fail, for tests of the call ledger. */
import fs, { appendFileSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { vi } from 'vitest'
import { ledgerName } from '../ipc/names.ts'
import type { Sealed } from './bounded-output.ts'
import type { Result } from './call.ts'

export const inline = (text: string): Sealed => ({
  kind: 'inline',
  data: Buffer.from(text).toString('base64'),
  chars: text.length,
})

export const ended = (text: string, exit_code = 0): Result => ({
  exit_code,
  signal: null,
  answer: { exit_code },
  stdout: inline(text),
  stderr: null,
})

/** A result whose output is in a file, which is created in the folder. */
export function spilled(folder: string, name: string): Result {
  const text = 'a long output'
  writeFileSync(join(folder, name), text)
  const stdout: Sealed = { kind: 'file', name, half: 100, total: text.length, chars: text.length }
  return { ...ended(''), stdout }
}

/** Writes the ledger of a runner of protocol 3, in the form of version 0.1.0. */
export function writeOther(folder: string, lines: readonly object[]): void {
  appendFileSync(join(folder, ledgerName(3)), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
}

/** Makes every write to the disk fail until the returned function is called. */
export function fillDisk(): () => void {
  let isFull = true
  const real = fs.writeSync
  vi.spyOn(fs, 'writeSync').mockImplementation(((...args: Parameters<typeof real>) => {
    if (isFull) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    return real(...args)
  }) as never)
  syncBuiltinESMExports()
  return () => void (isFull = false)
}

/** Makes every sync of a file fail until the returned function is called. */
export function failSyncs(): () => void {
  const spy = vi
    .spyOn(fs, 'fdatasync')
    .mockImplementation(((_: number, done: (error: Error | null) => void) =>
      setImmediate(() => done(new Error('EIO: i/o error, fdatasync')))) as never)
  syncBuiltinESMExports()
  return () => {
    spy.mockRestore()
    syncBuiltinESMExports()
  }
}

/** Undoes `fillDisk`, `failSyncs` and a changed clock; for `afterEach`. */
export function restoreSystem(): void {
  vi.useRealTimers()
  vi.restoreAllMocks()
  syncBuiltinESMExports()
}
