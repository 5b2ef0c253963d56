/** Entries of a directory for an archive: without excluded files, and without files that may contain credentials. */
import { readdir } from 'node:fs/promises'
import { holdsCredentials, isCredentialName, territoryOf, type Territory } from './credential-places.ts'
import type { IsExcluded } from './excludes.ts'

/** Name of the entry that describes an archive. */
export const MANIFEST = 'archive_manifest.json'

/** Number of files that were left out although no pattern excludes them, and whether the directory has a manifest of its own. */
export type WalkNotes = { omitted: number; hasManifest: boolean }

/**
 * Paths of the archived entries relative to `root`, each directory before its entries; `''` is the directory itself. Links are entries
 * and are not followed. `start`: territory of the directory itself. A path is bytes, because names need not be UTF-8. Directories that vanish meanwhile are skipped.
 */
export async function* walk(
  root: string,
  start: Territory,
  isExcluded: IsExcluded,
  notes: WalkNotes,
): AsyncGenerator<Buffer> {
  const pending: { path: Buffer; names: readonly string[]; above: Territory }[] = [
    { path: Buffer.alloc(0), names: [], above: start },
  ]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { path, names, above } = next
    const entries = await readdir(at(root, path), { withFileTypes: true, encoding: 'buffer' }).catch(() => null)
    if (entries === null) continue
    yield path
    const listed = entries.map((entry) => ({ entry, name: entry.name.toString('utf8') }))
    const territory = territoryOf(above, names.at(-1) ?? '', new Set(listed.map(({ name }) => name)))
    for (const { entry, name } of listed) {
      const isDirectory = entry.isDirectory()
      if (!isDirectory && !entry.isFile() && !entry.isSymbolicLink()) continue
      const below = [...names, name]
      if (isExcluded(below, isDirectory)) continue
      const inner = path.length === 0 ? entry.name : Buffer.concat([path, SLASH, entry.name])
      const isSecret =
        isCredentialName(territory, name, isDirectory) ||
        (entry.isFile() && (await holdsCredentials(name, at(root, inner))))
      if (isSecret) notes.omitted += 1
      else if (isDirectory) pending.push({ path: inner, names: below, above: territory })
      else {
        notes.hasManifest ||= names.length === 0 && name === MANIFEST
        yield inner
      }
    }
  }
}

const SLASH = Buffer.from('/')

const at = (root: string, path: Buffer): Buffer => Buffer.concat([Buffer.from(root), SLASH, path])
