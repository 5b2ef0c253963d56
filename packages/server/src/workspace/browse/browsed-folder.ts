/** The working directory of a conversation, as a person reads it: by relative paths, which cannot leave it. */
import { isAbsolute, posix } from 'node:path'
import { ParleyError, type FolderEntry, type FoundFiles, type TextPart } from '@parley/protocol'
import { DEFAULT_EXCLUDES } from '../archive/archive.ts'
import type { OpenFile } from '../host-files.ts'

/** Entries of one listing; the rest is left out. */
const MAX_ENTRIES = 2_000
/** Entries that one search looks at. */
export const MAX_SEARCHED = 20_000
/** Bytes at the beginning of a file that tell whether it is text. */
export const SAMPLE_BYTES = 8_000

/** Names of directories of dependencies and builds, which a search does not enter. */
export const NOT_SEARCHED: ReadonlySet<string> = new Set(
  DEFAULT_EXCLUDES.filter((pattern) => pattern.endsWith('/')).map((pattern) => pattern.slice(0, -1)),
)

/** Bytes of a file. */
export type Range = { offset: number; limit: number }

/** All methods throw ParleyError: `bad_request` for a path outside of the folder, `not_found`, `forbidden`. */
export interface BrowsedFolder {
  /** Directories first, then by name. Empty for a working directory that does not exist yet. */
  list(path: string, signal: AbortSignal): Promise<{ entries: FolderEntry[]; has_more: boolean }>
  text(path: string, range: Range, signal: AbortSignal): Promise<TextPart>
  /** Paths of files that contain every word of `query`, in any case; the best matches first. */
  search(query: string, limit: number, signal: AbortSignal): Promise<FoundFiles>
  /** The caller closes the file. */
  open(path: string, signal: AbortSignal): Promise<OpenFile>
}

/** The path without `.` and repeated slashes; `''` is the folder itself. @throws ParleyError `bad_request` */
export function relativePath(path: string): string {
  if (path.includes('\0')) throw new ParleyError('bad_request', 'Path must not contain the character NUL')
  if (isAbsolute(path)) throw new ParleyError('bad_request', 'Path must be relative to the working directory')
  const plain = posix.normalize(path).replace(/\/$/, '')
  if (plain === '..' || plain.startsWith('../')) throw outside()
  return plain === '.' ? '' : plain
}

export const outside = (): ParleyError => new ParleyError('bad_request', 'Path is outside the workspace')

export const missing = (filename: string): ParleyError =>
  new ParleyError('not_found', `There is no file ${filename} in the workspace`, { details: { filename } })

export const notFile = (path: string): ParleyError => new ParleyError('bad_request', `${path} is not a regular file`)

export const notDirectory = (path: string): ParleyError => new ParleyError('bad_request', `${path} is not a directory`)

export const withCredentials = (path: string): ParleyError =>
  new ParleyError('forbidden', `${path} may contain credentials of git and is not shown`)

/** A listing with at most `MAX_ENTRIES`, directories first. */
export function listing(entries: readonly FolderEntry[]): { entries: FolderEntry[]; has_more: boolean } {
  const rank = ({ kind, name }: FolderEntry) => `${kind === 'directory' ? 0 : 1}${name.toLowerCase()}\0${name}`
  const sorted = entries.map((entry) => ({ entry, key: rank(entry) })).toSorted((a, b) => (a.key < b.key ? -1 : 1))
  return { entries: sorted.slice(0, MAX_ENTRIES).map(({ entry }) => entry), has_more: sorted.length > MAX_ENTRIES }
}
