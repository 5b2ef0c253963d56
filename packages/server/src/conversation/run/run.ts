import type { ActionEvent, Draft, EventId, StoredEvent } from '@parley/protocol'
import type { Agent, Step, StepContext } from '../../agent/index.ts'
import { abortable, TimeSlices } from '../../lib/index.ts'
import { serviceMessage } from '../drafts.ts'
import type { Next } from './next.ts'

/** The parts of a conversation that the loop uses. */
export type Runnable = {
  /** Called between two steps; what it aborts ends the run there. */
  atBoundary: () => void
  agent: Agent
  turn: StepContext
  next: () => Next
  /** Returns action events by id. */
  actions: (ids: readonly EventId[]) => readonly ActionEvent[]
  /** True for an action that was open when this process loaded the conversation. */
  isInherited: (id: EventId) => boolean
  /** Resolves when the drafts are durable, however long the store refuses them. */
  commit: (drafts: readonly Draft[]) => Promise<StoredEvent[]>
  /** Resolves when the store accepts appends. Before a model is asked, so that no answer is paid for that cannot be stored. */
  expectAccepting: () => Promise<void>
  /** Resolves when the files are recorded as the calls so far have left them; null: they are. Before the calls of an answer begin, and before the run ends. */
  filesRecorded: () => Promise<void> | null
  /** Reads anew whether a limit of the user is used up; then `next` ends the run. Before a model is asked. */
  isUsedUp: () => Promise<boolean>
  /** Tells the agent of files that changed while the server was interrupted; true when there was something to tell. */
  reportFiles: () => Promise<boolean>
  /** Called when a model was asked and its answer is stored. */
  stepped: () => void
  /** Settles the request for a condensation. */
  condensed: (error?: unknown) => void
  /** Asks the judge of the goal, and records the consequence. */
  judge: (signal: AbortSignal) => Promise<void>
  /** Runs the hooks at the end, and records their results. False: the run continues. */
  mayStop: (todo: Extract<Next, { kind: 'stop' }>, signal: AbortSignal) => Promise<boolean>
  /** Records the end, unless an event intervened; true when the run is over. */
  conclude: () => Promise<boolean>
}

/**
 * The run from start to stop: asks `next`, lets the agent draft, commits each batch of drafts before the agent proceeds.
 * Rejects with the signal's reason when it is cancelled; nothing is committed after that.
 */
export async function run(conversation: Runnable, signal: AbortSignal): Promise<void> {
  const slices = new TimeSlices()
  for (;;) {
    // Steps that store nothing wait for nothing, and would keep every request of this server from being answered.
    await slices.next()
    conversation.atBoundary()
    signal.throwIfAborted()
    let todo = conversation.next()
    const recording = todo.kind === 'stop' || todo.kind === 'execute' ? conversation.filesRecorded() : null
    if (recording !== null) {
      await recording
      // A pause, or a message, may have been stored meanwhile.
      todo = conversation.next()
    }
    if (todo.kind === 'stop') {
      if ((await conversation.mayStop(todo, signal)) && (await conversation.conclude())) return
      continue
    }
    if (todo.kind === 'think' || todo.kind === 'condense' || todo.kind === 'judge') await conversation.expectAccepting()
    if ((todo.kind === 'think' || todo.kind === 'judge') && (await conversation.isUsedUp())) continue
    if (todo.kind === 'think' && (await conversation.reportFiles())) continue
    signal.throwIfAborted()
    if (todo.kind === 'condense') await condense(conversation, signal)
    else if (todo.kind === 'judge') await conversation.judge(signal)
    else if (todo.kind === 'nudge') await conversation.commit([serviceMessage(todo.text)])
    else await drive(step(conversation, todo, signal), conversation, signal)
    if (todo.kind === 'think') conversation.stepped()
  }
}

/** A failed condensation concerns only its requester; the run continues with the view as it is. */
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
  if (inherited.length === 0) return agent.execute(complete(ids, actions), turn, signal)
  return agent.recover(complete(inherited, actions), turn, signal)
}

/** The open calls with these ids. @throws Error when one is missing: it would never get a result, and the step be repeated without end */
function complete(ids: readonly EventId[], actions: Runnable['actions']): readonly ActionEvent[] {
  const found = actions(ids)
  const known = new Set(found.map(({ id }) => id))
  const missing = ids.filter((id) => !known.has(id))
  if (missing.length > 0) throw new Error(`open calls are missing from the view: ${missing.join(', ')}`)
  return found
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
    // An abandoned step ends by itself: its signal is aborted. Waiting here would let a slow tool delay the interrupt.
    drafting.return(undefined).catch(() => undefined)
  }
}
