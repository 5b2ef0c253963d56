/** Endpoint rows of files on the server's machine and in workspaces. Sources: agent-server-wire.md 1.8, 3. */
import { z } from 'zod'
import { laxBoolean, laxInt } from '../lax.ts'
import { laxConversationId } from '../lax-text.ts'
import { Success } from './agent-server.ts'
import { endpoint } from './endpoint.ts'
import { list } from '../lists.ts'

const file = { tag: 'Files', auth: 'session_key' } as const
/** Absolute. */
const path = z.string()
const at = z.object({ path })
const done = (description: string) => ({ status: 200, schema: Success, description })
const Place = z.object({ label: z.string(), path: z.string() })

export const uploadFile = endpoint({
  operationId: 'uploadFile',
  ...file,
  method: 'POST',
  path: '/api/file/upload',
  description: 'Writes a file from the part `file` of a multipart/form-data body.',
  query: at,
  streamsBody: true,
  ok: done('Written; missing directories were created'),
  errors: [400, 403, 413, 429],
})

export const downloadFile = endpoint({
  operationId: 'downloadFile',
  ...file,
  method: 'GET',
  path: '/api/file/download',
  description: 'Returns the bytes of a file.',
  query: at,
  isAuditedRead: true,
  ok: { status: 200, description: 'application/octet-stream' },
  errors: [400, 403, 404],
})

export const createDirectory = endpoint({
  operationId: 'createDirectory',
  ...file,
  method: 'POST',
  path: '/api/file/create_directory',
  description: 'Creates a directory and its missing parents.',
  query: at,
  ok: done('Created, or it existed'),
  errors: [400, 403],
})

export const HomeResponse = z.object({ home: z.string(), favorites: z.array(Place), locations: z.array(Place) })
export type HomeResponse = z.infer<typeof HomeResponse>

export const fileHome = endpoint({
  operationId: 'fileHome',
  ...file,
  method: 'GET',
  path: '/api/file/home',
  description: 'Returns the home directory and directories to start browsing from.',
  query: z.object({ include_hidden: laxBoolean().default(false) }),
  ok: { status: 200, schema: HomeResponse, description: 'The home directory and its subdirectories' },
  errors: [],
})

export const searchSubdirectories = endpoint({
  operationId: 'searchSubdirectories',
  ...file,
  method: 'GET',
  path: '/api/file/search_subdirs',
  description: 'Returns a page of the subdirectories of a directory.',
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
    description: 'Sorted by name, without symbolic links',
  },
  errors: [400, 403, 404],
})

export const archiveDirectory = endpoint({
  operationId: 'archiveDirectory',
  ...file,
  method: 'GET',
  path: '/api/file/archive',
  description: 'Returns a directory as a tar.gz, or its changes since a commit as a patch.',
  query: z.object({
    path,
    format: z.enum(['git-delta', 'tar.gz']).default('git-delta'),
    /** Base of a `git-delta`. Absent: the commit where the branch left its upstream or the default branch. */
    base_ref: z.string().optional(),
    /** Omits directories of dependencies and builds. */
    use_default_excludes: laxBoolean().default(true),
    exclude: list(z.string()).default([]),
  }),
  isAuditedRead: true,
  ok: { status: 200, description: 'The bytes, with X-Archive-* headers' },
  errors: [400, 403, 404],
})

const session = { tag: 'Workspace', auth: 'session_key', path: '/api/auth/workspace-session' } as const

export const openWorkspaceSession = endpoint({
  operationId: 'openWorkspaceSession',
  ...session,
  method: 'POST',
  description: 'Sets a cookie with which a browser may read files of workspaces.',
  ok: { status: 204, description: 'Set-Cookie' },
  errors: [],
})

export const closeWorkspaceSession = endpoint({
  operationId: 'closeWorkspaceSession',
  ...session,
  method: 'DELETE',
  description: 'Removes the workspace cookie.',
  ok: { status: 204, description: 'Set-Cookie' },
  errors: [],
})

const workspace = { tag: 'Workspace', auth: 'session_key', method: 'GET' } as const
const conversation = { conversation_id: laxConversationId() }

export const workspaceIndex = endpoint({
  operationId: 'workspaceIndex',
  ...workspace,
  path: '/api/conversations/{conversation_id}/workspace',
  description: 'Returns the index.html of a workspace.',
  params: z.object(conversation),
  ok: { status: 200, description: 'The page' },
  errors: [404],
})

export const workspaceFile = endpoint({
  operationId: 'workspaceFile',
  ...workspace,
  path: '/api/conversations/{conversation_id}/workspace/{file_path}',
  description: 'Returns a file of a workspace, or the index.html of a directory.',
  /** `file_path` is the rest of the path, including slashes. */
  params: z.object({ ...conversation, file_path: z.string() }),
  ok: { status: 200, description: 'The file; its content type follows from its name' },
  errors: [400, 404],
})
