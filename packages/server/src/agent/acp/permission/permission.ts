/** A permission request as a call of ours that can be analysed, shown and decided. Pure. Source: agent-core.md 11.6, 11.7, F10. */
import type { Action, ActionEvent, Draft, EventId, MessageToolCall, Observation, SecurityRisk } from '@parley/protocol'
import { newEventId, textContent } from '@parley/protocol'
import { shellQuote } from '../../../lib/index.ts'
import type { PermissionAnswer, PermissionRequest } from '../process/connection.ts'
import type { ToolCall } from '../tool-calls.ts'

/** A permission request that has not been answered yet. */
export type PendingPermission = {
  request: PermissionRequest
  call: ToolCall
  answer: (answer: PermissionAnswer) => void
}

/** The call that the agent requests, with the id that its action will have. */
export type RequestedCall = {
  id: EventId
  /** The agent's own id of the call. */
  callId: string
  tool: string
  action: Action
  toolCall: MessageToolCall
  summary: string
}

const MAX_SUMMARY_CHARS = 500

/** The call as one of our own actions where it has an equivalent, so that rules about commands and files apply to it. */
export function requestedCall(call: ToolCall): RequestedCall {
  const { tool, action } = asKnownTool(call)
  const { kind: _, ...args } = action
  const toolCall: MessageToolCall = {
    id: call.id,
    responses_item_id: null,
    name: tool,
    arguments: JSON.stringify(args),
    origin: 'completion',
  }
  const summary = (call.title === '' ? tool : call.title).slice(0, MAX_SUMMARY_CHARS)
  return { id: newEventId(), callId: call.id, tool, action, toolCall, summary }
}

function asKnownTool({ kind, title, rawInput, content }: ToolCall): { tool: string; action: Action } {
  const edit = diffIn(content)
  if (edit !== null) return { tool: 'file_editor', action: edit }
  const input = typeof rawInput === 'object' && rawInput !== null ? (rawInput as Record<string, unknown>) : {}
  const command = commandIn(input['command'] ?? input['cmd'])
  if (command !== null)
    return {
      tool: 'terminal',
      action: { kind: 'TerminalAction', command, is_input: false, timeout: null, reset: false },
    }
  return {
    tool: `acp_${kind ?? 'other'}`,
    action: { kind: 'MCPToolAction', data: { title, tool_kind: kind, raw_input: rawInput } },
  }
}

function commandIn(value: unknown): string | null {
  if (typeof value === 'string' && value.trim() !== '') return value
  if (!Array.isArray(value) || value.length === 0 || !value.every((word) => typeof word === 'string')) return null
  // For a shell that runs one line, the line is the command.
  const isShell = value.length === 3 && /(?:^|\/)(?:ba|z|da)?sh$/.test(value[0]!) && /^-l?c$/.test(value[1]!)
  return isShell ? value[2]! : value.map(quoted).join(' ')
}

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : shellQuote(word))

/** The first file change in the call's content; it takes precedence over the raw input. */
function diffIn(content: readonly unknown[] | null): Action | null {
  for (const block of content ?? []) {
    if (typeof block !== 'object' || block === null) continue
    const { type, path, oldText, newText, old_text, new_text } = block as Record<string, unknown>
    const fresh = newText ?? new_text
    if (type !== 'diff' || typeof path !== 'string' || typeof fresh !== 'string') continue
    const old = oldText ?? old_text
    const none = { file_text: null, old_str: null, new_str: null, insert_line: null, view_range: null }
    if (typeof old === 'string' && old !== '')
      return { kind: 'FileEditorAction', ...none, command: 'str_replace', path, old_str: old, new_str: fresh }
    return { kind: 'FileEditorAction', ...none, command: 'create', path, file_text: fresh }
  }
  return null
}

export function permissionAction(call: RequestedCall, responseId: string, risk: SecurityRisk): Draft {
  return {
    kind: 'ActionEvent',
    source: 'agent',
    id: call.id,
    thought: [],
    reasoning_content: null,
    thinking_blocks: [],
    responses_reasoning_item: null,
    action: call.action,
    tool_name: call.tool,
    tool_call_id: call.callId,
    tool_call: call.toolCall,
    llm_response_id: responseId,
    security_risk: risk,
    critic_result: null,
    summary: call.summary,
  }
}

const ALLOWED = 'Allowed. The agent performs the call itself; its result is an event of its own.'

/** Observation for an action that was approved; the agent performs it itself. */
export function allowedObservation({ id, tool_name, tool_call_id, action }: ActionEvent): Draft {
  return {
    kind: 'ObservationEvent',
    source: 'environment',
    tool_name,
    tool_call_id,
    observation: observationFor(action, tool_name, ALLOWED),
    action_id: id,
    extended_content: [],
  }
}

function observationFor(action: Action | null, tool_name: string, text: string): Observation {
  const base = { content: [textContent(text)], is_error: false }
  if (action?.kind === 'TerminalAction') {
    const metadata = {
      exit_code: -1,
      pid: -1,
      username: null,
      hostname: null,
      working_dir: null,
      py_interpreter_path: null,
      prefix: '',
      suffix: '',
    }
    const { command } = action as { command: string }
    return {
      kind: 'TerminalObservation',
      ...base,
      command,
      exit_code: null,
      timeout: false,
      metadata,
      full_output_save_dir: null,
    }
  }
  return { kind: 'MCPToolObservation', ...base, tool_name }
}

/** Observation of an ended call, for the hooks that run after it. */
export function resultObservation(action: Action, tool: string, call: ToolCall): Observation {
  const output = call.rawOutput ?? call.content ?? ''
  const text = typeof output === 'string' ? output : JSON.stringify(output)
  return { ...observationFor(action, tool, text), is_error: call.status === 'failed' }
}

/** Kinds of options by preference. An option that allows later calls too is never chosen. */
const KINDS = { allow: ['allow_once'], reject: ['reject_once', 'reject_always'] } as const

/** The answer that selects the option for a decision; null when the agent offers none. */
export function chooseOption(decision: 'allow' | 'reject', { options }: PermissionRequest): PermissionAnswer | null {
  for (const kind of KINDS[decision]) {
    const found = options.find((option) => option.kind === kind)
    if (found !== undefined) return { outcome: { outcome: 'selected', optionId: found.optionId } }
  }
  return null
}
