/** The conversations below a conversation. */
import type { ConversationInfo } from '@parley/protocol'
import { get } from '../../api/queries.ts'

/** Conversations of one request. */
const AT_ONCE = 50
/** Levels below the conversation that are shown. */
const LEVELS = 5

export type SubAgent = {
  readonly id: string
  /** 0 directly below the conversation. */
  readonly level: number
  readonly info: ConversationInfo
}

/** All sub-agents of a conversation, each followed by its own. */
export async function subAgentsOf(id: string, signal: AbortSignal): Promise<SubAgent[]> {
  const byId = new Map<string, ConversationInfo>()
  let wanted = [id]
  for (let level = 0; level <= LEVELS && wanted.length > 0; level++) {
    const found = await infosOf(wanted, signal)
    for (const info of found) byId.set(info.id, info)
    wanted = found.flatMap((info) => info.sub_conversation_ids).filter((child) => !byId.has(child))
  }
  return below(id, 0, byId)
}

function below(id: string, level: number, byId: ReadonlyMap<string, ConversationInfo>): SubAgent[] {
  const children = byId.get(id)?.sub_conversation_ids ?? []
  const infos = children.flatMap((child) => byId.get(child) ?? [])
  const ordered = infos.toSorted((a, b) => ((a.created_at ?? '') < (b.created_at ?? '') ? -1 : 1))
  return ordered.flatMap((info) => [{ id: info.id, level, info }, ...below(info.id, level + 1, byId)])
}

async function infosOf(ids: readonly string[], signal: AbortSignal): Promise<ConversationInfo[]> {
  const found: ConversationInfo[] = []
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const query = new URLSearchParams(ids.slice(from, from + AT_ONCE).map((id) => ['ids', id]))
    const infos = await get<(ConversationInfo | null)[]>(`/api/conversations?${query.toString()}`, signal)
    found.push(...infos.filter((info) => info !== null))
  }
  return found
}

type Status = 'running' | 'waiting' | 'failed' | 'paused' | 'finished' | 'idle'

/** The state of a sub-agent as a person sees it. */
export function statusOf({ execution_status: status }: Pick<ConversationInfo, 'execution_status'>): Status {
  switch (status) {
    case 'running':
    case 'paused':
    case 'finished':
      return status
    case 'waiting_for_confirmation':
      return 'waiting'
    case 'error':
    case 'stuck':
      return 'failed'
    default:
      return 'idle'
  }
}

/** US dollars and tokens of a conversation, its own sub-agents included. */
export function spentBy({ stats }: Pick<ConversationInfo, 'stats'>): { cost: number; read: number; written: number } {
  const all = Object.values(stats.usage_to_metrics)
  const sum = (of: (metrics: (typeof all)[number]) => number) => all.reduce((total, each) => total + of(each), 0)
  return {
    cost: sum(({ accumulated_cost }) => accumulated_cost),
    read: sum(({ accumulated_token_usage: tokens }) => tokens?.prompt_tokens ?? 0),
    written: sum(({ accumulated_token_usage: tokens }) => tokens?.completion_tokens ?? 0),
  }
}
