/** The changed files of a workspace, read again after each result of a tool. */
import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { server } from '../../api/server.ts'
import { listOf, membersOf, numberOf, textOf } from '../../log/read.ts'
import { directoryOf } from '../../log/state.ts'
import { useConversationState, useView } from '../../timeline/context.ts'

export type FileChange = {
  /** Relative to the repository. */
  readonly path: string
  readonly status: string
  readonly oldPath: string | null
  /** Null: not counted. */
  readonly additions: number | null
  readonly deletions: number | null
  readonly isBinary: boolean
  /** The commit that it was compared with. */
  readonly ref: string
}

/** `patch`: null for a binary or large file. `bytes`: size of the file; null when it is deleted. */
export type FilePatch = { readonly patch: string | null; readonly isBinary: boolean; readonly bytes: number | null }

export type Comparison = 'branch' | 'uncommitted'

/** The directory whose changes are shown; null while it is unknown, and when it is on another server. */
export function useDirectory(): { directory: string | null; isRemote: boolean } {
  const kind = useConversationState((state) => textOf(membersOf(state['workspace'])['kind']))
  const directory = useConversationState(directoryOf)
  const isRemote = kind !== '' && kind !== 'LocalWorkspace'
  return { directory: isRemote || directory === '' ? null : directory, isRemote }
}

/** The changed files. `isRepository`: null while it is unknown. */
export function useChanges(comparison: Comparison) {
  const { conversation } = useView()
  const { directory } = useDirectory()
  const key = [...keyOf(conversation.id), directory, comparison]
  const ref = comparison === 'uncommitted' ? 'HEAD' : undefined
  const list = useQuery({
    queryKey: [...key, 'list'],
    queryFn: async ({ signal }) =>
      changesOf(await server.call('GET', '/api/git/changes', { query: { path: directory, ref }, signal })),
    enabled: directory !== null,
  })
  const repository = useQuery({
    queryKey: [...key, 'repository'],
    // The answer is null outside of a repository.
    queryFn: async ({ signal }) =>
      (await server.call('GET', '/api/git/patch', { query: { path: `${directory}/.git` }, signal })) !== null,
    enabled: list.data?.length === 0,
  })
  useRefresh()
  return { list, isRepository: repository.data ?? null }
}

/** The patches of the files that are open, in their order. */
export function usePatches(files: readonly FileChange[]) {
  const { conversation } = useView()
  const { directory } = useDirectory()
  return useQueries({
    queries: files.map(({ path, oldPath, ref }) => ({
      queryKey: [...keyOf(conversation.id), directory, 'patch', path, oldPath, ref],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const query = { path: `${directory}/${path}`, ref, old_path: oldPath }
        return patchOf(await server.call('GET', '/api/git/patch', { query, signal }))
      },
    })),
  })
}

const keyOf = (id: string): string[] => ['changes', id]

/** Reads everything again when a tool has answered. Answers that come while it reads are covered by one more reading. */
function useRefresh(): void {
  const { conversation } = useView()
  const client = useQueryClient()
  const seen = useRef<number | null>(null)
  useEffect(() => {
    const { log, id } = conversation
    let isReading = false
    const check = async (): Promise<void> => {
      const answer = log
        .rows()
        .reduce((newest, row) => (row.type === 'tool' ? Math.max(newest, row.answer) : newest), 0)
      const isNew = seen.current !== null && answer > seen.current
      if (seen.current === null) seen.current = answer
      if (!isNew || isReading) return
      seen.current = answer
      isReading = true
      await client.invalidateQueries({ queryKey: keyOf(id) }, { cancelRefetch: true })
      isReading = false
      void check()
    }
    void check()
    return log.subscribe(() => void check())
  }, [conversation, client])
}

/** The files of an answer, a moved one once. */
function changesOf(answer: unknown): readonly FileChange[] {
  const all = listOf(answer).map((each): FileChange => {
    const { path, status, old_path, additions, deletions, binary, ref } = membersOf(each)
    return {
      path: textOf(path),
      status: textOf(old_path) === '' ? textOf(status) : 'MOVED',
      oldPath: textOf(old_path) || null,
      additions: numberOf(additions) ?? null,
      deletions: numberOf(deletions) ?? null,
      isBinary: binary === true,
      ref: textOf(ref),
    }
  })
  const moved = new Set(all.map(({ oldPath }) => oldPath))
  return all.filter(({ path, status }) => status !== 'DELETED' || !moved.has(path))
}

function patchOf(answer: unknown): FilePatch {
  const { patch, binary, bytes } = membersOf(answer)
  return {
    patch: typeof patch === 'string' ? patch : null,
    isBinary: binary === true,
    bytes: numberOf(bytes) ?? null,
  }
}
