/** Endpoint rows that read repositories on the server's machine. Source: agent-server-wire.md 1.9. */
import { z } from 'zod'
import { laxInt } from '../lax.ts'
import { text } from '../lax-text.ts'
import { endpoint } from './endpoint.ts'

const git = { tag: 'Git', auth: 'session_key', method: 'GET' } as const
const hex = () => text({ pattern: /^[0-9a-fA-F]{4,64}$/ })
/** Absolute path of a directory. */
const path = z.string()

export const GitChange = z.object({
  status: z.enum(['MOVED', 'ADDED', 'DELETED', 'UPDATED']),
  /** Relative to the repository. */
  path: z.string(),
  /** Lines; null where they are not counted: binary, large, or one of very many new files. */
  additions: z.int().nullable().optional(),
  deletions: z.int().nullable().optional(),
  /** The file that this new one is similar to. It is in the list, too, as deleted. */
  old_path: z.string().optional(),
  binary: z.boolean().optional(),
  /** The commit or tree that the file was compared with. */
  ref: z.string().optional(),
})
export type GitChange = z.infer<typeof GitChange>

export const GitDiff = z.object({ modified: z.string().nullable(), original: z.string().nullable() })
/** Both versions of a file; empty where the file does not exist, null outside a repository. */
export type GitDiff = z.infer<typeof GitDiff>

export const GitPatch = z.object({
  /** The commit or tree that was compared with. */
  ref: z.string(),
  /** In the unified format; empty when nothing differs, null for a binary or large file. */
  patch: z.string().nullable(),
  binary: z.boolean(),
  /** Size of the file in the working tree; null when it is deleted. */
  bytes: z.int().nullable(),
})
export type GitPatch = z.infer<typeof GitPatch>

export const GitCommit = z.object({
  sha: z.string(),
  short_sha: z.string(),
  subject: z.string(),
  author: z.string(),
  /** ISO 8601 with offset. */
  timestamp: z.string(),
})
export type GitCommit = z.infer<typeof GitCommit>

export const GitCommitsPage = z.object({ commits: z.array(GitCommit), has_more: z.boolean() })
export type GitCommitsPage = z.infer<typeof GitCommitsPage>

const changes = {
  status: 200,
  schema: z.array(GitChange),
  description: 'Sorted by path; empty outside a repository',
} as const

export const gitChanges = endpoint({
  operationId: 'gitChanges',
  ...git,
  path: '/api/git/changes',
  description: 'Lists the files that differ from a commit.',
  /** Absent `ref`: the commit where the branch left its upstream or the default branch. */
  query: z.object({ path, ref: z.string().optional() }),
  ok: changes,
  errors: [400],
})

export const gitDiff = endpoint({
  operationId: 'gitDiff',
  ...git,
  path: '/api/git/diff',
  description: 'Returns both sides of a changed file.',
  /** `commit` selects the change that this commit made; it excludes `ref`. */
  query: z.object({ path, ref: z.string().optional(), commit: hex().optional() }),
  ok: { status: 200, schema: GitDiff, description: 'Both versions; null outside a repository' },
  errors: [400],
})

export const gitPatch = endpoint({
  operationId: 'gitPatch',
  ...git,
  path: '/api/git/patch',
  description: 'Returns how a file of the working tree differs from a commit.',
  /** `old_path`: the file that this one was moved from, as `GET /api/git/changes` names it. */
  query: z.object({ path, ref: z.string().optional(), old_path: z.string().optional() }),
  ok: { status: 200, schema: GitPatch.nullable(), description: 'The patch; null outside a repository' },
  errors: [400],
})

export const gitCommits = endpoint({
  operationId: 'gitCommits',
  ...git,
  path: '/api/git/commits',
  description: 'Lists the newest commits.',
  query: z.object({ path, limit: laxInt({ ge: 1, le: 200 }).default(50) }),
  ok: { status: 200, schema: GitCommitsPage, description: 'Newest first; empty outside a repository' },
  errors: [400],
})

export const gitCommitChanges = endpoint({
  operationId: 'gitCommitChanges',
  ...git,
  path: '/api/git/commits/{sha}/changes',
  description: 'Lists the files that a commit changed.',
  params: z.object({ sha: hex() }),
  query: z.object({ path }),
  ok: changes,
  errors: [400],
})
