import type { ActionEvent, Draft, EventId, StoredEvent } from '@parley/protocol'
import type { Agent, Step, Turn } from '../../agent/index.ts'
import { abortable } from '../../lib/index.ts'
import { serviceMessage } from '../drafts.ts'
import type { Next } from './next.ts'

/** What the loop needs of its conversation. */
export type Runnable = {
  agent: Agent
  turn: Turn
  next: () => Next
  /** Action events by id. */
  actions: (ids: readonly EventId[]) => readonly ActionEvent[]
  /** Was open already when this process loaded the conversation. */
  isInherited: (id: EventId) => boolean
  commit: (drafts: readonly Draft[]) => Promise<StoredEvent[]>
  /** Tells those who wait for a shorter view that it is there, or why not. */
  condensed: (error?: unknown) => void
  /** Has the goal judged, and records what follows. */
  judge: (signal: AbortSignal) => Promise<void>
  /** Asks those who may object to the end, and records what they said. False: it goes on. */
  mayStop: (todo: Extract<Next, { kind: 'stop' }>, signal: AbortSignal) => Promise<boolean>
  /** Records the end, unless something came in between; true when it is over. */
  conclude: () => Promise<boolean>
}

/**
 * From start to stop: asks `next`, lets the agent draft, commits each batch of drafts before the agent goes on.
 * Rejects with the signal's reason when it is cancelled; nothing is committed after that.
 */
export async function run(conversation: Runnable, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    const todo = conversation.next()
    if (todo.kind === 'stop') {
      if ((await conversation.mayStop(todo, signal)) && (await conversation.conclude())) return
      continue
    }
    if (todo.kind === 'condense') await condense(conversation, signal)
    else if (todo.kind === 'judge') await conversation.judge(signal)
    else if (todo.kind === 'nudge') await conversation.commit([serviceMessage(todo.text)])
    else await drive(step(conversation, todo, signal), conversation, signal)
  }
}

/** A summary that cannot be made is a matter for who asked for it; the run goes on with the view as it is. */
async function condense(conversation: Runnable, signal: AbortSignal): Promise<void> {
  const { agent, turn, condensed } = conversation
  try {
    await drive(agent.condense(turn, signal), conversation, signal)
    condensed()
  } catch (error) {
    if (signal.aborted) throw error
    condensed(error)
  }
}

function step(
  { agent, turn, actions, isInherited }: Runnable,
  todo: Extract<Next, { kind: 'think' | 'execute' }>,
  signal: AbortSignal,
): Step {
  if (todo.kind === 'think') return agent.think(turn, signal)
  const ids = todo.actions.map(({ id }) => id)
  const inherited = ids.filter(isInherited)
  if (inherited.length === 0) return agent.execute(actions(ids), turn, signal)
  return agent.recover(actions(inherited), turn, signal)
}

async function drive(drafting: Step, { commit }: Runnable, signal: AbortSignal): Promise<void> {
  let stored: readonly StoredEvent[] = []
  try {
    for (;;) {
      const { done, value } = await abortable(drafting.next(stored), signal)
      if (done === true) return
      stored = await commit(value)
    }
  } finally {
    // An abandoned step ends by itself: its signal is aborted. Waiting here would let a stubborn tool hold the interrupt.
    drafting.return(undefined).catch(() => undefined)
  }
}
