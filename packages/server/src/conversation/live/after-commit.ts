import type { EventId, StoredEvent } from '@parley/protocol'
import type { GoalRounds } from '../goal/rounds.ts'
import type { LiveReader } from '../live-access.ts'
import type { ConversationRecord } from '../record/record.ts'
import type { LogCommit } from '../log/live-log.ts'
import type { Running } from '../run/running.ts'
import type { TitleTask } from '../titles/title-task.ts'
import type { LiveDeps } from './deps.ts'

/** Notifies every part that a durable commit concerns, before the conversation proceeds. */
export async function afterCommit(
  { events, record, ended, open }: LogCommit,
  { id, state }: Pick<LiveReader, 'id' | 'state'>,
  { goal, running, titles }: { goal: GoalRounds; running: Running; titles: TitleTask },
  deps: LiveDeps,
): Promise<void> {
  goal.changed()
  deps.onActivity()
  // The parent's costs include this one before the conversation proceeds.
  if (record.sub_agent && events.some(({ event }) => event.kind === 'UsageRecordedEvent'))
    await reportSpending(record, { id, state }, running, deps)
  if (ended !== null) await deps.runs.ended(id, record, ended)
  if (events.some(({ event }) => event.kind === 'MessageEvent' && event.source === 'user')) titles.start()
  await forgetResults(events, id, deps)
  const answered = answeredCalls(events, open)
  if (answered.length > 0) deps.onAnswered(id, answered)
}

/** A failed report is repeated when the parent waits for the sub-agent again. */
async function reportSpending(
  record: ConversationRecord,
  { id, state }: Pick<LiveReader, 'id' | 'state'>,
  running: Running,
  { parentLink, log }: LiveDeps,
): Promise<void> {
  try {
    running.remainingBudget = await parentLink.reportSpending(id, record, state())
  } catch (err) {
    log.warn({ conversation_id: id, err }, 'spending of a sub-agent not reported')
  }
}

/** Calls whose observation, error or rejection is stored now. */
function answeredCalls(events: readonly StoredEvent[], open: LogCommit['open']): EventId[] {
  const answered = new Set<EventId>()
  for (const { event } of events) {
    if (event.kind === 'ObservationEvent' || event.kind === 'UserRejectObservation') answered.add(event.action_id)
    if (event.kind !== 'AgentErrorEvent') continue
    // Like the state: the oldest open call with this id is meant.
    const meant = open.find(({ id, tool_call_id }) => tool_call_id === event.tool_call_id && !answered.has(id))
    if (meant !== undefined) answered.add(meant.id)
  }
  return [...answered]
}

async function forgetResults(events: readonly StoredEvent[], id: LiveReader['id'], deps: LiveDeps): Promise<void> {
  for (const { event } of events) {
    if (event.kind !== 'ObservationEvent' || event.observation.kind !== 'ClientToolObservation') continue
    await deps.clientCalls.forget(id, event.action_id).catch((err: unknown) => {
      deps.log.warn({ conversation_id: id, err }, 'client result not removed')
    })
  }
}
