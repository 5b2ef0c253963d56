/** Takes secret values out of drafts before they become events. Sources: agent-core.md 7.2, F19; agent-server-wire.md 8.4. */
import type { Draft } from '@parley/protocol'
import type { Masker } from '../secrets/index.ts'

/**
 * Members that say what an event is and how it belongs to others. A secret that happens to be such a word must not make an
 * event that nobody can read.
 */
const STRUCTURE: ReadonlySet<string> = new Set([
  'kind',
  'id',
  'source',
  'key',
  'status',
  'phase',
  'code',
  'role',
  'type',
  'model',
  'name',
  'tool_name',
  'tool_call_id',
  'action_id',
  'actions',
  'response_id',
  'llm_response_id',
  'usage_id',
  'security_risk',
  'rejection_source',
  'classification',
  'tools',
])
/** Of an action and an observation: the rest of them is what the model and the world said. */
const STRUCTURE_INSIDE: ReadonlySet<string> = new Set(['kind', 'type', 'tool_name'])
const NONE: ReadonlySet<string> = new Set()

/** The drafts with every text masked but those that carry their structure; the same ones when there is nothing to mask. */
export function maskDrafts(drafts: readonly Draft[], masker: Masker): readonly Draft[] {
  if (masker.longest === 0) return drafts
  return drafts.map((draft) => masked(draft, masker, STRUCTURE) as Draft)
}

function masked(value: unknown, masker: Masker, structure: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return masker.text(value)
  if (Array.isArray(value)) return value.map((item) => masked(item, masker, structure))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [
    name,
    structure.has(name) ? member : masked(member, masker, below(name, structure)),
  ])
  return Object.fromEntries(members)
}

function below(name: string, structure: ReadonlySet<string>): ReadonlySet<string> {
  if (name === 'action' || name === 'observation') return STRUCTURE_INSIDE
  // Arguments of foreign tools: a member may be called anything.
  return name === 'data' ? NONE : structure
}
