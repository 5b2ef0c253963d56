/** The feed of the user: lists follow the changes that the server reports, and nothing is asked for at intervals. */
import type { ConversationProgressPage, WaitingApprovals } from '@parley/protocol'
import type { InfiniteData, QueryClient } from '@tanstack/react-query'
import { FeedSocket } from './feed-socket.ts'
import { server } from './server.ts'
import { onSessionChange } from './session.ts'

type Frame = Readonly<Record<string, unknown>>
type Lists = InfiniteData<ConversationProgressPage>

const CONVERSATIONS = ['conversations'] as const
const APPROVALS = ['approvals'] as const

/** What frames make outdated. */
type Due = { conversations: boolean; approvals: boolean }

/** Milliseconds in which changes are collected before lists are read again. */
const COLLECT_MS = 50

/**
 * Follows the feed until the result is called.
 * @param onNewBuild called when the server has another build than at the first call
 */
export function followFeed(client: QueryClient, onNewBuild: () => void): () => void {
  let last: unknown
  let build: string | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  const due: Due = { conversations: false, approvals: false }
  const end = new AbortController()

  /** A hidden page shows the number of approvals only. */
  const refresh = (): void => {
    timer = undefined
    if (due.approvals) void client.invalidateQueries({ queryKey: APPROVALS })
    due.approvals = false
    if (!due.conversations || document.hidden) return
    due.conversations = false
    void client.invalidateQueries({ queryKey: CONVERSATIONS })
  }
  const checkBuild = async (): Promise<void> => {
    const info = await server.call('GET', '/server_info', { signal: end.signal }).catch(() => null)
    const { build: present } = (info ?? {}) as { build?: string }
    if (build !== undefined && present !== undefined && build !== present) onNewBuild()
    build ??= present
  }
  const socket = new FeedSocket({
    request: () => ({ subscribe: 'feed', after: last ?? null }),
    onOpen: () => void checkBuild(),
    onRefused: () => void client.invalidateQueries({ queryKey: ['me'] }),
    onFrame(frame) {
      last = frame['n'] ?? last
      takeFrame(client, frame, due)
      timer ??= setTimeout(refresh, COLLECT_MS)
    },
  })
  const leave = onSessionChange(() => {
    last = undefined
    socket.reconnect()
  })
  document.addEventListener('visibilitychange', refresh, { signal: end.signal })
  return () => {
    end.abort()
    clearTimeout(timer)
    leave()
    socket.close()
  }
}

function takeFrame(client: QueryClient, frame: Frame, due: Due): void {
  switch (frame['type']) {
    case 'lists':
    case 'deleted':
      due.conversations = true
      due.approvals = true
      return
    case 'changed':
      // Lists show the conversations of people; a sub-agent only waits in one.
      if (frame['parent_conversation_id'] === null && !hasTaken(client, frame)) due.conversations = true
      if (waitingBatch(client, frame['conversation_id']) !== frame['approval']) due.approvals = true
  }
}

/** Id of the batch that the list of approvals has for a conversation. */
function waitingBatch(client: QueryClient, id: unknown): string | null {
  const waiting = client.getQueryData<WaitingApprovals>(APPROVALS)
  return waiting?.approvals.find(({ conversation_id }) => conversation_id === id)?.batch_id ?? null
}

/** Renews the time of a conversation in the lists. False when more than the time has changed, so that lists are to be read again. */
function hasTaken(client: QueryClient, frame: Frame): boolean {
  const id = frame['conversation_id']
  const lists = client.getQueryData<Lists>(CONVERSATIONS)
  const known = lists?.pages.flatMap(({ results }) => results).find((item) => item.conversation_id === id)
  const isSame =
    known?.execution_status === frame['execution_status'] && known?.title === (frame['title'] ?? known?.title)
  if (known === undefined || !isSame || known.status === 'STARTING') return false
  if (!document.hidden)
    client.setQueryData<Lists>(CONVERSATIONS, (data) => data && withTime(data, id, String(frame['updated_at'])))
  return true
}

const withTime = (data: Lists, id: unknown, updated: string): Lists => ({
  ...data,
  pages: data.pages.map((page) => ({
    ...page,
    results: page.results.map((item) => (item.conversation_id === id ? { ...item, last_updated_at: updated } : item)),
  })),
})
