/**
 * The manifest of a backup: what the backup is, and the checksum of every file in it.
 *
 * One JSON object a line: first the header, then the entries, and last the checksum of all lines before. A backup without the last
 * line is incomplete.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { invalidInput, ParleyError } from '@parley/protocol'
import { z } from 'zod'
import { isKnownPath, STORE } from './contents.ts'
import { checksum, type Entry } from './tree.ts'

export const MANIFEST = 'manifest.ndjson'
/** Folder in a backup with the content of the data directory. */
export const DATA = 'data'

const FORMAT = 'parley-backup'
const FORMAT_VERSION = 1

const Format = z.object({ format: z.literal(FORMAT), format_version: z.int(), parley_version: z.string() })
const Header = Format.extend({
  /** Number of the schema of the store. */
  schema_version: z.int(),
  /** Time of the copy of the store. ISO 8601, UTC, whole seconds. */
  created_at: z.string(),
  /** Paths of the data directory: as it was named, and without links. */
  data_dirs: z.array(z.string()),
  has_workspaces: z.boolean(),
})
export type Header = Omit<z.infer<typeof Header>, 'format' | 'format_version'>

const Path = z
  .string()
  .refine((path) => path.split('/').every((part) => !['', '.', '..'].includes(part)) && isKnownPath(path))
const Mode = z.int().min(0).max(0o777)
const EntryLine = z.discriminatedUnion('type', [
  z.object({ path: Path, type: z.literal('file'), mode: Mode, size: z.int(), sha256: z.string() }),
  z.object({ path: Path, type: z.literal('directory'), mode: Mode }),
  z.object({ path: Path, type: z.literal('link'), target: z.string() }),
])
const LastLine = z.object({ entries: z.int(), sha256: z.string() })

export type Manifest = { header: Header; entries: Entry[] }

/** The text of a manifest. */
export function manifestText({ header, entries }: Manifest): string {
  const lines = [{ format: FORMAT, format_version: FORMAT_VERSION, ...header }, ...entries]
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  return `${text}${JSON.stringify({ entries: entries.length, sha256: sha256(text) })}\n`
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** @throws ParleyError `not_found` when `backup` is no backup, `invalid_input` when its manifest is damaged or of a newer format. */
export async function readManifest(backup: string): Promise<Manifest> {
  const text = await readFile(join(backup, MANIFEST), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
    throw new ParleyError(
      'not_found',
      `${backup} is no backup: it has no ${MANIFEST}; name a folder that parley backup has made`,
    )
  })
  const [first = '', ...rest] = text.split('\n')
  const format = parsed(Format, first)
  if (format === null) throw damaged(backup, `the first line of ${MANIFEST} cannot be read`)
  if (format.format_version !== FORMAT_VERSION)
    throw invalidInput(
      `the backup ${backup} has format ${format.format_version}, this Parley knows ${FORMAT_VERSION}: restore it with Parley ${format.parley_version} or later`,
    )
  const header = parsed(Header, first)
  const last = parsed(LastLine, rest.at(-2) ?? '')
  const body = text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1)
  if (header === null || last === null || rest.at(-1) !== '' || last.sha256 !== sha256(body))
    throw damaged(backup, `${MANIFEST} is incomplete or was changed`)
  const entries = rest.slice(0, -2).map((line) => parsed(EntryLine, line))
  const known = entries.filter((entry) => entry !== null)
  if (known.length !== last.entries || !known.some(({ path, type }) => path === STORE && type === 'file'))
    throw damaged(backup, `${MANIFEST} names paths that no backup contains, or not the store`)
  return { header, entries: known }
}

function parsed<T>(schema: z.ZodType<T>, line: string): T | null {
  try {
    return schema.safeParse(JSON.parse(line)).data ?? null
  } catch {
    // Not JSON: the caller names the damage.
    return null
  }
}

/** Reads every file of a backup. @throws ParleyError `invalid_input` naming the first one that is missing or was changed. */
export async function verifyFiles(backup: string, entries: readonly Entry[]): Promise<void> {
  for (const entry of entries) {
    if (entry.type !== 'file') continue
    const found = await checksum(join(backup, DATA, entry.path)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') throw damaged(backup, `${entry.path} is missing`)
      throw error
    })
    if (found.size !== entry.size)
      throw damaged(backup, `${entry.path} has ${found.size} bytes instead of ${entry.size}`)
    if (found.sha256 !== entry.sha256) throw damaged(backup, `${entry.path} was changed: its checksum differs`)
  }
}

/** @param what the damage, as a clause */
export const damaged = (backup: string, what: string): ParleyError =>
  invalidInput(`the backup ${backup} is damaged: ${what}; nothing was restored. Use another backup`)
