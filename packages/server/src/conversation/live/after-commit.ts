import type { StoredEvent } from '@parley/protocol'
import type { GoalRounds } from '../goal/rounds.ts'
import type { ConversationRecord } from '../record/record.ts'
import type { RunEnd } from '../run/run-end.ts'
import type { Running } from '../run/running.ts'
import type { Titling } from '../titles/titling.ts'
import type { Core } from './core.ts'

/** What a commit wrote; `ended` when it ended a run. */
export type Committed = { events: readonly StoredEvent[]; record: ConversationRecord; ended: RunEnd | null }

/** Tells everybody whom a durable commit concerns, before the conversation goes on. */
export async function afterCommit(
  { events, record, ended }: Committed,
  core: Pick<Core, 'id' | 'log' | 'deps'>,
  { goal, running, titling }: { goal: GoalRounds; running: Running; titling: Titling },
): Promise<void> {
  const { id, log, deps } = core
  goal.changed()
  deps.onActivity()
  // Its parent pays, before this conversation goes on.
  if (record.sub_agent && events.some(({ event }) => event.kind === 'UsageRecordedEvent'))
    running.purse = (await deps.kin?.spent(id, record, log.state)) ?? null
  if (ended !== null) await deps.runs?.ended(id, record, ended)
  if (events.some(({ event }) => event.kind === 'MessageEvent' && event.source === 'user')) titling.start()
  await forgetResults(events, core)
  const answered = events.flatMap(({ event }) => (event.kind === 'ObservationEvent' ? [event.action_id] : []))
  if (answered.length > 0) deps.onAnswered?.(id, answered)
}

async function forgetResults(events: readonly StoredEvent[], { id, deps }: Pick<Core, 'id' | 'deps'>): Promise<void> {
  for (const { event } of events) {
    if (event.kind !== 'ObservationEvent' || event.observation.kind !== 'ClientToolObservation') continue
    await deps.clientCalls?.forget(id, event.action_id).catch((err: unknown) => {
      deps.log.warn({ conversation_id: id, err }, 'the result of a client could not be removed')
    })
  }
}
