/** Endpoint rows for the list of directories that a user has saved for new conversations. Source: agent-server-wire.md 1.2, 1.13. */
import { z } from 'zod'
import { text } from '../lax-text.ts'
import { list } from '../lists.ts'
import { endpoint } from './endpoint.ts'

const path = () => text({ min: 1, max: 4096 })

export const WorkspaceParentItem = z.object({ id: path(), name: text({ min: 1, max: 256 }), path: path() })
/** A directory whose subdirectories are offered as workspaces. */
export type WorkspaceParentItem = z.infer<typeof WorkspaceParentItem>

export const WorkspaceItem = WorkspaceParentItem.extend({
  /** The saved parent that contains it. Answers omit a null. */
  parentPath: text({ max: 4096 }).nullable().optional(),
})
/** A directory that is offered as the workspace of a new conversation. */
export type WorkspaceItem = z.infer<typeof WorkspaceItem>

export const WorkspacesListResponse = z.object({
  workspaces: z.array(WorkspaceItem).default([]),
  workspaceParents: z.array(WorkspaceParentItem).default([]),
})
/** In the order in which they were saved. */
export type WorkspacesListResponse = z.infer<typeof WorkspacesListResponse>

const tag = { tag: 'Workspaces', auth: 'session_key' } as const
const workspaces = { ...tag, path: '/api/workspaces' } as const
const parents = { ...tag, path: '/api/workspaces/parents' } as const
const all = { status: 200, schema: WorkspacesListResponse, description: 'All that are saved' } as const
const query = z.object({ path: path() })
const deleted = { status: 200, schema: z.object({ deleted: z.boolean() }), description: 'Removed' } as const

export const listWorkspaces = endpoint({
  operationId: 'listWorkspaces',
  ...workspaces,
  method: 'GET',
  description: 'Lists the directories that the user has saved for new conversations.',
  ok: all,
  errors: [],
})

export const addWorkspaces = endpoint({
  operationId: 'addWorkspaces',
  ...workspaces,
  method: 'POST',
  description: 'Saves directories for new conversations; a path that is saved already stays as it is.',
  body: z.object({ workspaces: list(WorkspaceItem) }),
  ok: all,
  errors: [409],
})

export const deleteWorkspace = endpoint({
  operationId: 'deleteWorkspace',
  ...workspaces,
  method: 'DELETE',
  description: 'Removes a directory from the saved ones; the directory itself stays.',
  query,
  ok: deleted,
  errors: [404],
})

export const addWorkspaceParents = endpoint({
  operationId: 'addWorkspaceParents',
  ...parents,
  method: 'POST',
  description: 'Saves directories whose subdirectories are offered as workspaces.',
  body: z.object({ parents: list(WorkspaceParentItem) }),
  ok: all,
  errors: [409],
})

export const deleteWorkspaceParent = endpoint({
  operationId: 'deleteWorkspaceParent',
  ...parents,
  method: 'DELETE',
  description: 'Removes a directory from the saved parents; the directory itself stays.',
  query,
  ok: deleted,
  errors: [404],
})
