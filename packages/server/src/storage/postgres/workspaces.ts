/** Directories of one place that the server has created, and the conversations whose records name them. */
import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import type { ConversationId } from '@parley/protocol'
import type { MadeWorkspace, WorkspaceStore } from '../contract/workspaces.ts'
import type { PlaceId } from '../contract/nodes.ts'
import type { Database } from './database.ts'

const COLUMNS = 'root, owner, kind, inode, repository'
const PUT_SQL = `INSERT INTO made_workspaces (root_digest, ${COLUMNS}, place) VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (place, root_digest) DO UPDATE SET owner = excluded.owner, kind = excluded.kind, inode = excluded.inode,
    repository = excluded.repository`
const CONTAINING_SQL = `SELECT ${COLUMNS} FROM made_workspaces WHERE root_digest = ANY($1::bytea[]) AND place = $2
  ORDER BY length(root) DESC LIMIT 1`
/** The index holds the beginnings of paths, so each condition is there twice. */
const NAMING_SQL = ['working_dir', 'worktree_source'].map(
  (named) => `SELECT c.id FROM records r JOIN conversations c ON c.n = r.conversation
    WHERE (c.place IS NULL OR c.place = $5) AND ${named} IS NOT NULL AND left(${named}, 600) BETWEEN left($1, 600) AND left($2, 600)
      AND (${named} = $1 OR ${named} > $3 AND ${named} < $2) LIMIT $4`,
)

/** The key of a directory in `made_workspaces`. */
export const digestOf = (path: string): Buffer => createHash('sha256').update(path).digest()

/** The directory and those that contain it. */
function upwards(directory: string): string[] {
  const paths = [directory]
  for (let at = directory; dirname(at) !== at; at = dirname(at)) paths.push(dirname(at))
  return paths
}

/** The directories that a record names; a damaged record names nothing. */
export function namedIn(record: string): [workingDir: string | null, worktreeSource: string | null] {
  const textAt = (value: unknown, ...names: string[]): string | null => {
    let at = value
    for (const name of names) at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[name] : null
    return typeof at === 'string' ? at : null
  }
  try {
    const value: unknown = JSON.parse(record)
    return [textAt(value, 'workspace', 'working_dir'), textAt(value, 'worktree', 'source')]
  } catch {
    return [null, null]
  }
}

export function postgresWorkspaces(database: Database, place: PlaceId): WorkspaceStore {
  return {
    put: ({ root, owner, kind, inode, repository }) =>
      database.write(
        async (sql) => void (await sql.run(PUT_SQL, digestOf(root), root, owner, kind, inode, repository, place)),
      ),
    containing: (directory) =>
      database.read(async (sql) => {
        const digests = upwards(directory).map(digestOf)
        return (await sql.get<MadeWorkspace>(CONTAINING_SQL, digests, place)) ?? null
      }),
    ofOwner: (owner) =>
      database.read((sql) =>
        sql.all<MadeWorkspace>(`SELECT ${COLUMNS} FROM made_workspaces WHERE owner = $1 AND place = $2`, owner, place),
      ),
    forget: (root) =>
      database.write(
        async (sql) =>
          void (await sql.run(
            'DELETE FROM made_workspaces WHERE root_digest = $1 AND place = $2',
            digestOf(root),
            place,
          )),
      ),
    naming: (root, limit) =>
      database.read(async (sql) => {
        const found = new Set<ConversationId>()
        // `0` follows `/` in the order of characters.
        for (const text of NAMING_SQL)
          for (const { id } of await sql.all<{ id: ConversationId }>(text, root, `${root}0`, `${root}/`, limit, place))
            found.add(id)
        return [...found].slice(0, limit)
      }),
  }
}
