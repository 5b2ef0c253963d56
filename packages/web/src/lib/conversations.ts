/** What a list shows about a conversation. Pure functions of its progress. */
import type { ConversationProgress } from '@parley/protocol'

export type Shown =
  | 'starting'
  | 'running'
  | 'waiting'
  | 'paused'
  | 'finished'
  | 'failed'
  | 'start_failed'
  | 'stopped'
  | 'idle'

type Item = Pick<
  ConversationProgress,
  'conversation_id' | 'status' | 'runtime_status' | 'execution_status' | 'last_updated_at'
>

/** Conversations that wait, also through a sub-agent. */
type Waiting = { has(id: string): boolean }

/** The one status that matters most to a person. */
export function shownStatus(
  { conversation_id, status, runtime_status, execution_status }: Item,
  waiting: Waiting,
): Shown {
  if (waiting.has(conversation_id)) return 'waiting'
  if (status === 'STARTING') return 'starting'
  if (status === 'STOPPED') return runtime_status === 'STATUS$ERROR' ? 'start_failed' : 'stopped'
  switch (execution_status) {
    case 'running':
    case 'paused':
    case 'finished':
    case 'idle':
      return execution_status
    case 'waiting_for_confirmation':
      return 'waiting'
    case 'error':
    case 'stuck':
      return 'failed'
    default:
      return 'stopped'
  }
}

/** A failure asks for attention for a day; then it is history. */
const FAILURE_MS = 24 * 3600_000

export type Sections<T> = { attention: T[]; running: T[]; recent: T[] }

/** Divides conversations into those that need a person, those at work, and all others; the order in each stays. */
export function sectionsOf<T extends Item>(items: readonly T[], waiting: Waiting, now: number): Sections<T> {
  const sections: Sections<T> = { attention: [], running: [], recent: [] }
  for (const item of items) sections[sectionOf(item, waiting, now)].push(item)
  return sections
}

function sectionOf(item: Item, waiting: Waiting, now: number): keyof Sections<unknown> {
  const shown = shownStatus(item, waiting)
  if (shown === 'waiting') return 'attention'
  if (shown === 'running' || shown === 'starting') return 'running'
  const isFailure = shown === 'failed' || shown === 'start_failed'
  return isFailure && now - Date.parse(item.last_updated_at) < FAILURE_MS ? 'attention' : 'recent'
}

/** Conversations whose title or repository contains every word of `filter`. */
export function filtered<T extends Pick<ConversationProgress, 'title' | 'selected_repository'>>(
  items: readonly T[],
  filter: string,
): T[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  return items.filter(({ title, selected_repository }) => {
    const text = `${title} ${selected_repository ?? ''}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

/**
 * The sections as they were divided before, with the present items: rows do not move, appear or change their section; those that are gone
 * disappear.
 */
export function inOrderOf<T extends Item>(before: Sections<T>, items: readonly T[]): Sections<T> {
  const present = new Map(items.map((item) => [item.conversation_id, item]))
  const renew = (section: readonly T[]): T[] =>
    section.flatMap(({ conversation_id }) => present.get(conversation_id) ?? [])
  return { attention: renew(before.attention), running: renew(before.running), recent: renew(before.recent) }
}
