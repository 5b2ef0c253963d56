/** The tool calls of one prompt, as the agent reports them. Source: agent-core.md 11.6. */
import type { Draft } from '@parley/protocol'

/** Characters of one text of a call that are stored. */
const MAX_TEXT_CHARS = 30_000
const OVER: ReadonlySet<string | null> = new Set(['completed', 'failed'])

export type ToolCall = {
  id: string
  title: string
  /** Null: not reported. */
  status: string | null
  kind: string | null
  rawInput: unknown
  rawOutput: unknown
  content: unknown[] | null
}

const UNKNOWN_CALL = { title: '', status: null, kind: null, rawInput: null, rawOutput: null, content: null }

export class ToolCalls {
  readonly #calls = new Map<string, ToolCall>()

  /** True when the agent has reported any call, and so may have changed something. */
  get hasAny(): boolean {
    return this.#calls.size > 0
  }

  get(id: string): ToolCall | undefined {
    return this.#calls.get(id)
  }

  /** Adds a new call and returns it. For a known call, the same as `progress`. */
  begin(fields: Record<string, unknown>): ToolCall | null {
    const id = idOf(fields)
    if (this.#calls.has(id)) return this.progress(fields)
    const call = merged({ ...UNKNOWN_CALL, id }, fields)
    this.#calls.set(id, call)
    return call
  }

  /** Updates a call. Returns it when it has just ended, otherwise null. Adds an unknown call. */
  progress(fields: Record<string, unknown>): ToolCall | null {
    const before = this.#calls.get(idOf(fields))
    if (before === undefined) return this.begin(fields)
    if (OVER.has(before.status)) return null
    const after = merged(before, fields)
    this.#calls.set(after.id, after)
    return OVER.has(after.status) ? after : null
  }

  /** Adds or updates the call of a permission request. `isNew`: the call was not known before. */
  fromPermission(fields: Record<string, unknown>): { call: ToolCall; isNew: boolean } {
    const before = this.#calls.get(idOf(fields))
    const { status: _, ...known } = fields
    const call = merged(before ?? { ...UNKNOWN_CALL, id: idOf(fields), status: 'pending' }, known)
    this.#calls.set(call.id, call)
    return { call, isNew: before === undefined }
  }

  /** Ends the open calls and returns them. */
  close(status: 'completed' | 'failed'): ToolCall[] {
    const open = [...this.#calls.values()].filter((call) => !OVER.has(call.status))
    return open.map((call) => {
      const closed = { ...call, status }
      this.#calls.set(call.id, closed)
      return closed
    })
  }
}

const idOf = ({ toolCallId }: Record<string, unknown>): string => String(toolCallId)

export const isOver = ({ status }: ToolCall): boolean => OVER.has(status)

/** The call with the reported members; null and missing members keep the earlier values. */
function merged(call: ToolCall, fields: Record<string, unknown>): ToolCall {
  const { title, status, kind, rawInput, rawOutput, content } = fields
  return {
    id: call.id,
    title: typeof title === 'string' ? title : call.title,
    status: typeof status === 'string' ? status : call.status,
    kind: typeof kind === 'string' ? kind : call.kind,
    rawInput: rawInput ?? call.rawInput,
    rawOutput: rawOutput ?? call.rawOutput,
    content: Array.isArray(content) ? content : call.content,
  }
}

/** Draft with the current state of a call. */
export function toolCallEvent(call: ToolCall): Draft {
  return {
    kind: 'ACPToolCallEvent',
    source: 'agent',
    tool_call_id: call.id,
    title: call.title,
    status: call.status,
    tool_kind: call.kind,
    raw_input: bounded(call.rawInput),
    raw_output: bounded(call.rawOutput),
    content: call.content === null ? null : call.content.map(bounded),
    is_error: call.status === 'failed',
  }
}

/** The same value with its long texts cut in the middle. */
function bounded(value: unknown): unknown {
  if (typeof value === 'string') return cut(value)
  if (Array.isArray(value)) return value.map(bounded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, bounded(member)]))
}

function cut(text: string): string {
  if (text.length <= MAX_TEXT_CHARS) return text
  const half = Math.floor(MAX_TEXT_CHARS / 2)
  return `${text.slice(0, half)}\n[${text.length - 2 * half} characters left out]\n${text.slice(-half)}`
}
