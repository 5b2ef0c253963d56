/** What conversations and server did last, for the message of a sequence that hangs. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Place } from './place.ts'
import type { Stored } from './stored-logs.ts'

const LAST_EVENTS = 8
const LAST_LINES = 15
/** Milliseconds after which a request counts as unanswered. */
const ANSWER_MS = 5_000

/** Members of events that tell what happened. */
const TELLING = [
  'key',
  'status',
  'value',
  'code',
  'detail',
  'tool_name',
  'action_id',
  'batch_id',
  'decision',
  'llm_response_id',
]
/** Longest shown value, in characters. */
const VALUE_CHARS = 60

/** @param ids the conversations of the sequence, with their sub-agents */
export async function report(place: Place, ids: readonly string[]): Promise<string> {
  const conversations = await Promise.all(ids.map((id) => conversation(place, id)))
  const since = (performance.now() - place.restartedAt) / 1000
  return [
    '',
    `restarts: ${place.restarts}, ${since < 0 ? 'one is under way' : `none for ${since.toFixed(1)} s`}`,
    `requests without an answer: ${place.unanswered().join(', ') || 'none'}`,
    `outside calls without an answer: ${place.effects.unanswered().join(', ') || 'none'}`,
    ...conversations,
    'log of the server:',
    ...place.log().trimEnd().split('\n').slice(-LAST_LINES),
  ].join('\n  ')
}

async function conversation({ logs, call }: Place, id: string): Promise<string> {
  const late = new AbortController()
  const answer = await Promise.race([
    call('GET', `/api/conversations/${id}`),
    sleep(ANSWER_MS, null, { signal: late.signal }).catch(() => null),
  ])
  late.abort()
  const shown = answer === null ? 'no answer' : `${answer.status} ${String(answer.body.execution_status)}`
  const events = logs.events(id)
  const now = Date.now()
  const age = (at: string) => `${((now - Date.parse(at)) / 1000).toFixed(1)} s ago`
  const last = events
    .slice(-LAST_EVENTS)
    .map((stored) => `    ${stored.seq} ${age(stored.event.timestamp)} ${told(stored)}`)
  return [`${id}: ${String(logs.status(id))} in the store, answered as ${shown}`, ...last].join('\n  ')
}

function told({ event }: Stored): string {
  const members = TELLING.filter((name) => event[name] != null).map(
    (name) => `${name}=${JSON.stringify(event[name]).slice(0, VALUE_CHARS)}`,
  )
  return [event.kind, ...members].join(' ')
}
