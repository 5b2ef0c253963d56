/** One line about a lost connection. Below two seconds nothing is shown, and nothing on the page is blanked. */
import { useSyncExternalStore } from 'react'
import { useNow } from '../lib/use-now.ts'
import { Button } from '../ui/button.tsx'
import { conversation as words } from '../words/conversation.en.ts'
import type { ConnectionState } from '../socket/connection.ts'
import { useView } from './context.ts'

const PATIENCE_MS = 2000

export function ConnectionBanner() {
  const { conversation } = useView()
  const state = useSyncExternalStore(conversation.subscribe, conversation.state)
  return state.status === 'waiting' || state.status === 'connecting' ? (
    <Lost state={state} retry={() => conversation.retryNow()} />
  ) : null
}

type Broken = Extract<ConnectionState, { since: number }>

function Lost({ state, retry }: { state: Broken; retry: () => void }) {
  const now = useNow(500)
  if (now - state.since < PATIENCE_MS) return null
  const seconds = state.status === 'waiting' ? Math.max(0, Math.ceil((state.retryAt - now) / 1000)) : 0
  return (
    <div className="connection-banner" role="status">
      <span>{words.disconnected}</span>
      <span aria-hidden>{seconds > 0 ? words.nextAttempt(seconds) : words.connecting}</span>
      <Button look="quiet" size="small" onClick={retry}>
        {words.now}
      </Button>
    </div>
  )
}
