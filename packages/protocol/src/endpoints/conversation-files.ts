/** Endpoint rows that read the files of a conversation by paths relative to its working directory. */
import { z } from 'zod'
import { laxInt } from '../lax.ts'
import { laxConversationId, text } from '../lax-text.ts'
import { endpoint } from './endpoint.ts'

/** Most bytes of one part of a file. */
const MAX_PART_BYTES = 1024 * 1024

const files = { tag: 'Workspace', auth: 'session_key', method: 'GET' } as const
const params = z.object({ conversation_id: laxConversationId() })
/** Relative to the working directory, which is the empty path. */
const path = () => text({ max: 4096 })

const FolderEntry = z.object({
  name: z.string(),
  /** Of a link the kind of its target; `other` also for one that leads out of the working directory, or to nothing. */
  kind: z.enum(['directory', 'file', 'other']),
  is_link: z.literal(true).optional(),
})
export type FolderEntry = z.infer<typeof FolderEntry>

export const listConversationFiles = endpoint({
  operationId: 'listConversationFiles',
  ...files,
  path: '/api/conversations/{conversation_id}/files',
  description: 'Returns the entries of a directory of a workspace, directories first.',
  params,
  query: z.object({ path: path().default('') }),
  ok: {
    status: 200,
    /** `has_more`: the directory has more entries than are returned. */
    schema: z.object({ entries: z.array(FolderEntry), has_more: z.boolean() }),
    description: 'At most 2,000 entries; none while the working directory does not exist yet',
  },
  errors: [400, 403, 404, 409],
})

const TextPart = z.object({
  /** Bytes of the whole file. */
  size: z.int(),
  /** UTC. */
  modified_at: z.string(),
  offset: z.int(),
  /** Null: the file is not text. Bytes that are no UTF-8 are U+FFFD. */
  text: z.string().nullable(),
  /** `offset` of the next part; null: this is the last one. */
  next_offset: z.int().nullable(),
})
export type TextPart = z.infer<typeof TextPart>

export const readConversationText = endpoint({
  operationId: 'readConversationText',
  ...files,
  path: '/api/conversations/{conversation_id}/files/text',
  description:
    'Returns a part of a file of a workspace as text. It ends with a whole line, unless a line is longer than the part.',
  params,
  query: z.object({
    path: path(),
    /** Bytes before the part. */
    offset: laxInt({ ge: 0, le: Number.MAX_SAFE_INTEGER }).default(0),
    /** Bytes. */
    limit: laxInt({ ge: 16, le: MAX_PART_BYTES }).default(128 * 1024),
  }),
  ok: { status: 200, schema: TextPart, description: 'The part' },
  errors: [400, 403, 404, 409, 413],
})

const FoundFiles = z.object({
  paths: z.array(z.string()),
  /** False: there are more files with this name, or the search did not look at all of them. */
  is_complete: z.boolean(),
})
export type FoundFiles = z.infer<typeof FoundFiles>

export const searchConversationFiles = endpoint({
  operationId: 'searchConversationFiles',
  ...files,
  path: '/api/conversations/{conversation_id}/files/search',
  description: 'Returns the paths of files of a workspace that contain every word of a text, best matches first.',
  params,
  query: z.object({ q: text({ min: 1, max: 200 }), limit: laxInt({ ge: 1, le: 200 }).default(50) }),
  ok: {
    status: 200,
    schema: FoundFiles,
    description: 'Without files in directories of dependencies and builds; at most 20,000 entries are looked at',
  },
  errors: [400, 403, 404, 409],
})

export const downloadConversationFile = endpoint({
  operationId: 'downloadConversationFile',
  ...files,
  path: '/api/conversations/{conversation_id}/files/content',
  description: 'Returns the bytes of a file of a workspace as a download, whatever its type.',
  params,
  query: z.object({ path: path() }),
  isAuditedRead: true,
  ok: { status: 200, description: 'application/octet-stream' },
  errors: [400, 403, 404, 409, 413],
})
