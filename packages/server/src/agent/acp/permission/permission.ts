/**
 * A permission request as calls of ours that can be analysed, shown and decided. Pure. A request may hold several file changes and
 * commands; each of them is a call, so that nothing is allowed that was not analysed and shown. Source: agent-core.md 11.6, 11.7, F10.
 */
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

/** One part of what the agent requests, with the id that its action will have. */
export type RequestedCall = {
  id: EventId
  /** The agent's own id of the call; with a number, for further parts of the same call. */
  callId: string
  tool: string
  action: Action
  toolCall: MessageToolCall
  summary: string
}

const MAX_SUMMARY_CHARS = 500

/** Calls of one request; the rest of a longer one is a single call. */
const MAX_CALLS = 100

/** Everything that a permission request asks for. `isMixed`: it holds file changes and commands, so its kind says too little. */
export type RequestedCalls = { calls: RequestedCall[]; isMixed: boolean }

/** The request as our own actions where it has equivalents, so that rules about commands and files apply to it. */
export function requestedCalls(call: ToolCall): RequestedCalls {
  const { all, isMixed } = partsOf(call)
  const isLong = all.length > MAX_CALLS
  const rest = isLong ? [otherPart(call, { parts: all.slice(MAX_CALLS - 1).map(({ action }) => action) })] : []
  const parts = isLong ? [...all.slice(0, MAX_CALLS - 1), ...rest] : all
  return {
    calls: parts.map((part, index) => asCall(part, call, { index, count: parts.length })),
    isMixed: isMixed || isLong,
  }
}

type Part = { tool: string; action: Action }

function asCall(
  { tool, action }: Part,
  call: ToolCall,
  { index, count }: { index: number; count: number },
): RequestedCall {
  const { kind: _, ...args } = action
  const callId = index === 0 ? call.id : `${call.id}#${index + 1}`
  const toolCall: MessageToolCall = {
    id: callId,
    responses_item_id: null,
    name: tool,
    arguments: JSON.stringify(args),
    origin: 'completion',
  }
  const title = (call.title === '' ? tool : call.title).slice(0, MAX_SUMMARY_CHARS)
  const summary = count === 1 ? title : `${title} (${index + 1} of ${count})`
  return { id: newEventId(), callId, tool, action, toolCall, summary }
}

/** Changes of files in the content, and commands in the raw input; without any, the request as it is. */
function partsOf(call: ToolCall): { all: Part[]; isMixed: boolean } {
  const { rawInput, content } = call
  const edits = (content ?? []).flatMap((block) => editIn(block, call))
  const input = typeof rawInput === 'object' && rawInput !== null ? (rawInput as Record<string, unknown>) : {}
  const commands = new Set([commandIn(input['command']), commandIn(input['cmd'])].filter((text) => text !== null))
  const runs = [...commands].map((command): Part => {
    return {
      tool: 'terminal',
      action: { kind: 'TerminalAction', command, is_input: false, timeout: null, reset: false },
    }
  })
  const all = [...edits, ...runs]
  return {
    all: all.length === 0 ? [otherPart(call, { raw_input: rawInput })] : all,
    isMixed: (edits.length > 0 && runs.length > 0) || runs.length > 1,
  }
}

/** A part without an equivalent. */
const otherPart = ({ kind, title }: ToolCall, data: Record<string, unknown>): Part => ({
  tool: `acp_${kind ?? 'other'}`,
  action: { kind: 'MCPToolAction', data: { title, tool_kind: kind, ...data } },
})

function commandIn(value: unknown): string | null {
  if (typeof value === 'string' && value.trim() !== '') return value
  if (!Array.isArray(value) || value.length === 0 || !value.every((word) => typeof word === 'string')) return null
  // For a shell that runs one line, the line is the command.
  const isShell = value.length === 3 && /(?:^|\/)(?:ba|z|da)?sh$/.test(value[0]!) && /^-l?c$/.test(value[1]!)
  return isShell ? value[2]! : value.map(quoted).join(' ')
}

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : shellQuote(word))

/** The file change that a block of the call's content describes; one that cannot be read is shown as it is. */
function editIn(block: unknown, call: ToolCall): Part[] {
  if (typeof block !== 'object' || block === null) return []
  const { type, path, oldText, newText, old_text, new_text } = block as Record<string, unknown>
  if (type !== 'diff') return []
  const fresh = newText ?? new_text
  if (typeof path !== 'string' || typeof fresh !== 'string') return [otherPart(call, { diff: block })]
  const old = oldText ?? old_text
  const none = { file_text: null, old_str: null, new_str: null, insert_line: null, view_range: null }
  const action: Action =
    typeof old === 'string' && old !== ''
      ? { kind: 'FileEditorAction', ...none, command: 'str_replace', path, old_str: old, new_str: fresh }
      : { kind: 'FileEditorAction', ...none, command: 'create', path, file_text: fresh }
  return [{ tool: 'file_editor', action }]
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
