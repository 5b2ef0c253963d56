/** Directories that the server has created, and the conversations whose records name them. */
import { dirname } from 'node:path'
import type { ConversationId } from '@parley/protocol'
import type { MadeWorkspace, WorkspaceStore } from '../contract/workspaces.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

/** Expressions of the indexes over records; a damaged record names nothing. */
const NAMED = ['$.workspace.working_dir', '$.worktree.source'].map(
  (path) => `CASE WHEN json_valid(record) THEN json_extract(record, '${path}') END`,
)
const namingSql = (named: string, condition: string): string =>
  `SELECT c.id FROM records JOIN conversations c ON c.n = records.conversation WHERE ${named} ${condition}`
/** Alternately conversations that name a directory, and those that name a path between two limits. */
export const NAMING_SQL: readonly string[] = NAMED.flatMap((named) => [
  `${namingSql(named, '= ?')} LIMIT ?`,
  `${namingSql(named, '> ?')} AND ${named} < ? LIMIT ?`,
])

export function sqliteWorkspaces(sql: Sql, commits: GroupCommit): WorkspaceStore {
  return {
    put: ({ root, owner, kind, inode, repository }) =>
      commits.write(() => {
        sql.run(
          'INSERT OR REPLACE INTO made_workspaces (root, owner, kind, inode, repository) VALUES (?, ?, ?, ?, ?)',
          root,
          owner,
          kind,
          inode,
          repository,
        )
      }),
    containing: (directory) =>
      commits.read(() => {
        for (let at = directory; ; at = dirname(at)) {
          const made = sql.get<MadeWorkspace>(
            'SELECT root, owner, kind, inode, repository FROM made_workspaces WHERE root = ?',
            at,
          )
          if (made !== undefined) return { ...made }
          if (dirname(at) === at) return null
        }
      }),
    ofOwner: (owner) =>
      commits.read(() =>
        sql
          .all<MadeWorkspace>('SELECT root, owner, kind, inode, repository FROM made_workspaces WHERE owner = ?', owner)
          .map((row) => ({ ...row })),
      ),
    forget: (root) => commits.write(() => void sql.run('DELETE FROM made_workspaces WHERE root = ?', root)),
    naming: (root, limit) =>
      commits.read(() => {
        // `0` follows `/` in the order of characters.
        const bounds = [[root], [`${root}/`, `${root}0`]]
        const found = NAMING_SQL.flatMap((text, index) =>
          sql.all<{ id: ConversationId }>(text, ...(bounds[index % 2] ?? []), limit),
        )
        return [...new Set(found.map(({ id }) => id))].slice(0, limit)
      }),
  }
}
