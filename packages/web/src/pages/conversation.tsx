/** A conversation: header, timeline, approval and composer. */
import { lazy, Suspense, useMemo, useRef, useSyncExternalStore } from 'react'
import { useMe } from '../api/me.ts'
import { useSearchParam } from '../lib/location.ts'
import { openConversation, type OpenConversation } from '../socket/conversation.ts'
import { type View, ViewProvider } from '../timeline/context.ts'
import { ConversationHeader } from '../timeline/header.tsx'
import { ConnectionBanner } from '../timeline/connection-banner.tsx'
import { RowStates } from '../timeline/row-states.ts'
import { Timeline } from '../timeline/timeline.tsx'
import { conversation as words } from '../words/conversation.en.ts'
import './conversation.css'

/** Loaded beside the log, which is shown before them. */
const ApprovalDock = lazy(async () => ({ default: (await import('../approve/dock.tsx')).ApprovalDock }))
const Composer = lazy(async () => ({ default: (await import('../compose/composer.tsx')).Composer }))
const Panel = lazy(async () => ({ default: (await import('../panel/index.ts')).Panel }))

const states = new WeakMap<OpenConversation, RowStates>()

/** Which rows are open, as long as the conversation is. */
function rowStatesOf(conversation: OpenConversation): RowStates {
  const known = states.get(conversation) ?? new RowStates()
  states.set(conversation, known)
  return known
}

export function ConversationPage({ id }: { id: string }) {
  const conversation = useMemo(() => openConversation(id), [id])
  const me = useMe()
  const field = useRef<HTMLTextAreaElement>(null)
  const [at] = useSearchParam('at')
  const canAct = me.data?.role !== 'read-only'
  const view = useMemo<View>(
    () => ({
      conversation,
      rows: rowStatesOf(conversation),
      canAct,
      quote: (text) => {
        const quoted = text.replaceAll(/^/gm, '> ')
        field.current?.dispatchEvent(new CustomEvent('add-text', { detail: `${quoted}\n\n` }))
        field.current?.focus()
      },
    }),
    [conversation, canAct],
  )
  const status = useSyncExternalStore(conversation.subscribe, () => conversation.state().status)
  if (status === 'gone')
    return (
      <div className="page">
        <h1>{words.goneTitle}</h1>
        <p className="page-lead">{words.gone}</p>
      </div>
    )
  return (
    <ViewProvider value={view}>
      <div className="conversation">
        <ConversationHeader />
        <ConnectionBanner />
        <div className="conversation-body">
          <div className="conversation-main">
            <Log at={at !== null && /^\d+$/.test(at) ? Number(at) : null} conversation={conversation} />
            <div className="conversation-dock">
              <Suspense>
                <ApprovalDock />
                <Composer field={field} />
              </Suspense>
            </div>
          </div>
          <Suspense>
            <Panel />
          </Suspense>
        </div>
      </div>
    </ViewProvider>
  )
}

function Log({ conversation, at }: { conversation: OpenConversation; at: number | null }) {
  const isLoaded = useSyncExternalStore(conversation.subscribe, conversation.isLoaded)
  const isEmpty = useSyncExternalStore(
    conversation.log.subscribe,
    () => conversation.log.rows().length + conversation.log.pending.items().length === 0,
  )
  if (!isLoaded) return <div className="timeline-empty" aria-busy="true" />
  if (isEmpty) return <div className="timeline-empty">{words.nothingYet}</div>
  return <Timeline at={at} />
}
