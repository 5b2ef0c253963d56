/** Searches files in a workspace, by name or content; newest first. Sources: agent-core.md 8.7, 8.8. */
import { expectInside } from '../file-editor/access.ts'
import { Refusal } from '../refusal.ts'
import type { ToolContext } from '../tool.ts'
import { readGlob } from './glob-pattern.ts'
import { SEARCH } from './script.ts'
import { toEre } from './text-pattern.ts'

/** Files of one result. */
const MAX_FOUND = 100
const LIMIT_MS = 30_000

export type Wanted = {
  /** Absolute, or beginning with `~`. */
  dir: string
  /** File pattern; null: every file. A leading `!` inverts it. */
  glob: string | null
  /** Regular expression for one line; null: names only. */
  text: string | null
  /** Refuse a directory outside the working directory, also through symlinks. */
  confine: boolean
}

export type SearchResult = {
  /** Absolute. */
  dir: string
  /** Absolute, newest first, at most `MAX_FOUND`. */
  files: string[]
  truncated: boolean
}

/** @throws Refusal when the search cannot be executed as requested. */
export async function search(
  { dir, glob, text, confine }: Wanted,
  { workspace, signal }: ToolContext,
): Promise<SearchResult> {
  if (confine) await expectInside(workspace.resolve(dir.startsWith('~') ? '/' : dir), workspace, signal)
  const isNegated = glob?.startsWith('!') === true
  const pattern = glob === null ? null : readGlob(isNegated ? glob.slice(1) : glob)
  const hidden = pattern !== null && !isNegated && pattern.seesHidden
  const names = [pattern?.ere ?? '', isNegated ? 'not' : '', hidden ? 'hidden' : '']
  const what = [text ?? '', text === null ? '' : (toEre(text) ?? '')]
  const argv = ['sh', '-c', SEARCH, 'sh', text === null ? 'names' : 'text', dir, ...names, ...what]
  const result = await workspace.exec({ argv, timeoutMs: LIMIT_MS }, signal)
  if (result.timedOut)
    throw new Refusal(`The search took longer than ${LIMIT_MS / 1000} seconds. Search a smaller directory.`)
  const [at = dir, ...rows] = result.stdout.split('\n').filter((line) => line !== '')
  expectSearched(at, result.exit_code, result.stderr)
  const files = rows.map((row) => `${at.replace(/\/+$/, '')}/${row.slice(row.indexOf(' ') + 1)}`)
  return { dir: at, files: files.slice(0, MAX_FOUND), truncated: files.length > MAX_FOUND }
}

function expectSearched(dir: string, code: number | null, stderr: string): void {
  switch (code) {
    case 0:
      return
    case 10:
      throw new Refusal(`${dir} is not a directory.`)
    case 11:
      throw new Refusal(`${dir} cannot be read: permission denied.`)
    case 12:
      throw new Refusal(`Invalid regex pattern: ${stderr.trim()}`)
    case 13:
      throw new Refusal(
        'Invalid regex pattern: it uses something that this workspace cannot search for, because ripgrep is not ' +
          'installed there. Write it with plain characters, sets, groups and repetition.',
      )
    default:
      throw new Refusal(`The search failed: ${stderr.trim() || `exit code ${code}`}`)
  }
}

/** Returns the text for the model: the number of files, one path per line, and whether there are more. */
export function describeResult({ files, truncated }: SearchResult, what: string): string {
  if (files.length === 0) return `No files found: ${what}.`
  const count = files.length === 1 ? '1 file' : `${files.length} files`
  const more = truncated
    ? `\n\n[There are more. These are the ${MAX_FOUND} that changed last; narrow the pattern or the path to see others.]`
    : ''
  return `Found ${count}: ${what}\n${files.join('\n')}${more}`
}
