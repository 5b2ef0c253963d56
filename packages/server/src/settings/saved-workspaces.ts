/** Directories that a user has saved for new conversations. Source: agent-server-wire.md 1.13. */
import { ParleyError, type WorkspaceItem, type WorkspaceParentItem, WorkspacesListResponse } from '@parley/protocol'
import type { DocumentEdit, DocumentRow, DocumentStore } from '../storage/index.ts'

type Saved = WorkspacesListResponse

/** The entries are names and paths only: whether a user may work in a directory is decided when a conversation starts. */
export interface SavedWorkspaces {
  /** In the order in which they were saved. */
  list(user: string): Promise<Saved>
  /** The first entry with a path stays. @throws ParleyError `conflict` beyond the limits. */
  add(user: string, items: readonly WorkspaceItem[]): Promise<Saved>
  addParents(user: string, items: readonly WorkspaceParentItem[]): Promise<Saved>
  /** @throws ParleyError `not_found`. */
  remove(user: string, path: string): Promise<void>
  removeParent(user: string, path: string): Promise<void>
}

const COLLECTION = 'saved_workspaces'
const NAME = 'list'
/** Entries of each of the two lists. */
const MAX_ENTRIES = 500
/** Characters of both lists as JSON. */
const MAX_CHARS = 1024 * 1024

export function openSavedWorkspaces(documents: DocumentStore): SavedWorkspaces {
  const change = (user: string, to: (saved: Saved) => Saved): Promise<Saved> =>
    documents.edit(user, (edit) => {
      const saved = to(read(edit.get(COLLECTION, NAME)))
      write(edit, saved)
      return saved
    })
  const remove = (user: string, path: string, list: keyof Saved, what: string) =>
    change(user, (saved) => {
      if (!saved[list].some((entry) => entry.path === path)) throw new ParleyError('not_found', `${what} not found`)
      return { ...saved, [list]: saved[list].filter((entry) => entry.path !== path) }
    }).then(() => undefined)
  return {
    list: async (user) => read(await documents.get(user, COLLECTION, NAME)),
    add: (user, items) =>
      change(user, (saved) => ({ ...saved, workspaces: joined(saved.workspaces, items.map(withoutNull)) })),
    addParents: (user, items) =>
      change(user, (saved) => ({ ...saved, workspaceParents: joined(saved.workspaceParents, items) })),
    remove: (user, path) => remove(user, path, 'workspaces', 'Workspace'),
    removeParent: (user, path) => remove(user, path, 'workspaceParents', 'Workspace parent'),
  }
}

const read = (row: DocumentRow | null): Saved => WorkspacesListResponse.parse(row === null ? {} : JSON.parse(row.json))

function write(edit: DocumentEdit, saved: Saved): void {
  const json = JSON.stringify(saved)
  if (Object.values(saved).some(({ length }) => length > MAX_ENTRIES) || json.length > MAX_CHARS)
    throw new ParleyError(
      'conflict',
      `At most ${MAX_ENTRIES} workspaces, ${MAX_ENTRIES} parents and ${MAX_CHARS / 1024} KiB can be saved. Remove some first.`,
    )
  edit.put(COLLECTION, NAME, json)
}

function joined<T extends { path: string }>(saved: readonly T[], items: readonly T[]): T[] {
  const byPath = new Map<string, T>()
  for (const entry of [...saved, ...items]) if (!byPath.has(entry.path)) byPath.set(entry.path, entry)
  return [...byPath.values()]
}

function withoutNull({ parentPath, ...entry }: WorkspaceItem): WorkspaceItem {
  return parentPath === null || parentPath === undefined ? entry : { ...entry, parentPath }
}
