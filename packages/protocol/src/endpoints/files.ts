/** Rows for files of the server's machine and of workspaces. Sources: agent-server-wire.md 1.8, 3. */
import { z } from 'zod'
import { laxBoolean, laxInt } from '../lax.ts'
import { laxConversationId } from '../lax-text.ts'
import { Success } from './agent-server.ts'
import { endpoint } from './endpoint.ts'

const file = { tag: 'Files', auth: 'session_key' } as const
/** Absolute. */
const path = z.string()
const at = z.object({ path })
const done = (description: string) => ({ status: 200, schema: Success, description })
const Place = z.object({ label: z.string(), path: z.string() })

export const uploadFile = endpoint({
  ...file,
  method: 'POST',
  path: '/api/file/upload',
  summary: 'Write a file from the part `file` of a multipart/form-data body',
  query: at,
  ok: done('Written, directories made where needed'),
  errors: [400, 403],
})

export const downloadFile = endpoint({
  ...file,
  method: 'GET',
  path: '/api/file/download',
  summary: 'The bytes of a file',
  query: at,
  ok: { status: 200, description: 'application/octet-stream' },
  errors: [400, 403, 404],
})

export const createDirectory = endpoint({
  ...file,
  method: 'POST',
  path: '/api/file/create_directory',
  summary: 'Make a directory and those above it',
  query: at,
  ok: done('It is there'),
  errors: [400, 403],
})

export const HomeResponse = z.object({ home: z.string(), favorites: z.array(Place), locations: z.array(Place) })
export type HomeResponse = z.infer<typeof HomeResponse>

export const fileHome = endpoint({
  ...file,
  method: 'GET',
  path: '/api/file/home',
  summary: 'Where to begin looking for a directory',
  query: z.object({ include_hidden: laxBoolean().default(false) }),
  ok: { status: 200, schema: HomeResponse, description: 'The home directory and what is in it' },
  errors: [],
})

export const searchSubdirectories = endpoint({
  ...file,
  method: 'GET',
  path: '/api/file/search_subdirs',
  summary: 'A page of the directories in a directory',
  query: z.object({
    path,
    page_id: z.string().optional(),
    limit: laxInt({ gt: 0, le: 100 }).default(100),
    include_hidden: laxBoolean().default(false),
  }),
  ok: {
    status: 200,
    schema: z.object({
      items: z.array(z.object({ name: z.string(), path: z.string() })),
      next_page_id: z.string().nullable(),
    }),
    description: 'By name, links left out',
  },
  errors: [400, 403, 404],
})

export const archiveDirectory = endpoint({
  ...file,
  method: 'GET',
  path: '/api/file/archive',
  summary: 'A directory as a tar.gz, or what git says has changed in it as a patch',
  query: z.object({
    path,
    format: z.enum(['git-delta', 'tar.gz']).default('git-delta'),
    /** Of a delta; without it, where the branch left its upstream or the default branch. */
    base_ref: z.string().optional(),
    /** Leaves out directories of dependencies and builds. */
    use_default_excludes: laxBoolean().default(true),
    exclude: z.array(z.string()).default([]),
  }),
  ok: { status: 200, description: 'The bytes, with X-Archive-* headers' },
  errors: [400, 403, 404],
})

const session = { tag: 'Workspace', auth: 'session_key', path: '/api/auth/workspace-session' } as const

export const openWorkspaceSession = endpoint({
  ...session,
  method: 'POST',
  summary: 'A cookie with which a browser may read files of workspaces',
  ok: { status: 204, description: 'Set-Cookie' },
  errors: [],
})

export const closeWorkspaceSession = endpoint({
  ...session,
  method: 'DELETE',
  summary: 'Take the cookie back',
  ok: { status: 204, description: 'Set-Cookie' },
  errors: [],
})

const workspace = { tag: 'Workspace', auth: 'session_key', method: 'GET' } as const
const conversation = { conversation_id: laxConversationId() }

export const workspaceIndex = endpoint({
  ...workspace,
  path: '/api/conversations/{conversation_id}/workspace',
  summary: 'The index.html of a workspace',
  params: z.object(conversation),
  ok: { status: 200, description: 'The page' },
  errors: [404],
})

export const workspaceFile = endpoint({
  ...workspace,
  path: '/api/conversations/{conversation_id}/workspace/{file_path}',
  summary: 'A file of a workspace, or the index.html of a directory',
  /** `file_path` takes the rest of the path, slashes included. */
  params: z.object({ ...conversation, file_path: z.string() }),
  ok: { status: 200, description: 'The file, its type guessed by its name' },
  errors: [400, 404],
})

export const fileRows = [
  uploadFile,
  downloadFile,
  createDirectory,
  fileHome,
  searchSubdirectories,
  archiveDirectory,
  openWorkspaceSession,
  closeWorkspaceSession,
  workspaceIndex,
  workspaceFile,
] as const
