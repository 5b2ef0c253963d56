/** `Prefer: wait=N` (RFC 7240): holds an answer until the start and the run have ended. Source: decisions.md, Waiting for the result. */
import type { IncomingHttpHeaders } from 'node:http'
import { ParleyError, type ConversationId } from '@parley/protocol'
import type { Actor, Conversations, WatchItem } from '../../conversation/index.ts'

/** Longest wait; clients and proxies time out soon afterwards. */
const MAX_WAIT_SECONDS = 55

/** Milliseconds that the caller accepts to wait; undefined without the preference. */
export function preferredWaitMs(headers: IncomingHttpHeaders): number | undefined {
  const wait = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:$|[,;])/i.exec(String(headers['prefer'] ?? ''))?.[1]
  return wait === undefined ? undefined : Math.min(Number(wait), MAX_WAIT_SECONDS) * 1000
}

/** Resolves when the start has ended and the conversation does not run, after `ms` milliseconds, or when `callerSignal` aborts. */
export async function untilRested(
  conversations: Conversations,
  id: ConversationId,
  actor: Actor,
  ms: number,
  callerSignal: AbortSignal,
): Promise<void> {
  const enough = AbortSignal.any([AbortSignal.timeout(ms), callerSignal])
  try {
    await using watcher = await conversations.watch(id, 'now', actor, enough, 'decide')
    for (;;) {
      const { status, execution_status } = await conversations.progress(id, actor, 'decide')
      if (status !== 'STARTING' && execution_status !== 'running') return
      let items = await watcher.next()
      while (!items.some(mayEndIt)) items = await watcher.next()
      if (items.some(({ kind }) => kind === 'deleted')) return
    }
  } catch (error) {
    // A conversation that another process has taken over ends the wait, not the request, which has taken effect.
    const isTakenOver = error instanceof ParleyError && error.code === 'unavailable'
    if (!enough.aborted && !isTakenOver) throw error
  }
}

/** True for items after which the progress has to be read again. */
function mayEndIt(item: WatchItem): boolean {
  if (item.kind !== 'event') return item.kind === 'deleted'
  return item.event.kind === 'StatusChangedEvent' || item.event.kind === 'StartPhaseEvent'
}
