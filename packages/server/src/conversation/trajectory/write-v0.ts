/** Writes events in the older format. Pure. Source: conversation-service.md 1.3 and 2. */
import type {
  ActionEvent,
  AgentErrorEvent,
  MessageEvent,
  ObservationEvent,
  TreeEvent,
  UserRejectObservation,
} from '@parley/protocol'
import { parseRecord } from '../../lib/index.ts'

type V0Event = Record<string, unknown>
type ResultEvent = ObservationEvent | AgentErrorEvent | UserRejectObservation

/** A branch, root first. Events without an equivalent are left out, also the system prompt: readers expect a message first. */
export function inV0(branch: readonly TreeEvent[]): V0Event[] {
  const written: V0Event[] = []
  /** Ids in that format, by the action's own id and by that of its call. */
  const ids = new Map<string, number>()
  const put = (event: TreeEvent, source: string, members: V0Event): number => {
    const id = written.length
    written.push({ id, timestamp: event.timestamp, source, ...members })
    return id
  }
  const batches = Map.groupBy(
    branch.filter((event) => event.kind === 'ActionEvent'),
    (event) => event.llm_response_id,
  )
  for (const event of branch) {
    switch (event.kind) {
      case 'MessageEvent':
        if (event.source === 'user' || event.source === 'agent') put(event, event.source, message(event))
        break
      case 'ActionEvent': {
        const id = put(event, 'agent', action(event, batches.get(event.llm_response_id)?.length ?? 1))
        ids.set(event.id, id)
        ids.set(event.tool_call_id, id)
        break
      }
      case 'ObservationEvent':
      case 'AgentErrorEvent':
      case 'UserRejectObservation': {
        const observed = observation(event)
        const cause = ids.get('action_id' in event ? event.action_id : event.tool_call_id)
        if (observed !== null) put(event, 'agent', { ...(cause === undefined ? {} : { cause }), ...observed })
        break
      }
      default:
    }
  }
  return written
}

function message({ source, llm_message }: MessageEvent): V0Event {
  const content = textOf(llm_message.content)
  const urls = llm_message.content.flatMap((part) => (part.type === 'image' ? part.image_urls : []))
  const args = { content, image_urls: urls.length === 0 ? null : urls, wait_for_response: source === 'agent' }
  return { message: content, action: 'message', args }
}

function action(event: ActionEvent, inBatch: number): V0Event {
  const { tool_name, tool_call_id, llm_response_id } = event
  const tool_call_metadata = {
    function_name: tool_name,
    tool_call_id,
    model_response: { id: llm_response_id },
    total_calls_in_response: inBatch,
  }
  return { message: event.summary ?? '', ...actionOf(event), tool_call_metadata }
}

function actionOf({ action, thought: parts, tool_call, security_risk }: ActionEvent): V0Event {
  const thought = textOf(parts)
  const confirmed = { confirmation_state: 'confirmed', security_risk }
  switch (action?.kind) {
    case 'TerminalAction': {
      const { command, is_input, timeout } = action
      const args = {
        command,
        is_input,
        thought,
        blocking: false,
        is_static: false,
        cwd: null,
        hidden: false,
        ...confirmed,
      }
      return { action: 'run', args, ...(timeout === null ? {} : { timeout }) }
    }
    case 'FileEditorAction':
    case 'PlanningFileEditorAction': {
      const { command, path, file_text, old_str, new_str, insert_line, view_range } = action
      if (command === 'view')
        return {
          action: 'read',
          args: { path, start: 0, end: -1, view_range, thought, impl_source: 'oh_aci', ...confirmed },
        }
      const args = {
        path,
        command,
        file_text,
        old_str,
        new_str,
        insert_line,
        thought,
        impl_source: 'oh_aci',
        ...confirmed,
      }
      return { action: 'edit', args }
    }
    case 'ThinkAction':
      return { action: 'think', args: { thought: action.thought } }
    case 'FinishAction':
      return { action: 'finish', args: { final_thought: action.message, outputs: {}, thought } }
    case 'TaskTrackerAction': {
      const task_list = action.task_list.map((task, index) => ({ id: String(index + 1), ...task }))
      return { action: 'task_tracking', args: { command: action.command, task_list, thought } }
    }
    default:
      return {
        action: 'call_tool_mcp',
        args: { name: tool_call.name, arguments: parsed(tool_call.arguments), thought },
      }
  }
}

function observation(event: ResultEvent): V0Event | null {
  if (event.kind === 'AgentErrorEvent') return { observation: 'error', content: event.error, extras: { error_id: '' } }
  if (event.kind === 'UserRejectObservation')
    return { observation: 'user_rejected', content: event.rejection_reason, extras: {} }
  const { observation: result } = event
  const content = textOf(result.content)
  switch (result.kind) {
    case 'TerminalObservation': {
      const extras = { command: result.command ?? '', metadata: result.metadata, hidden: false }
      return { observation: 'run', content, extras, success: result.metadata.exit_code === 0 }
    }
    case 'FileEditorObservation':
    case 'PlanningFileEditorObservation': {
      if (result.is_error) return { observation: 'error', content, extras: { error_id: '' } }
      const { command, path, prev_exist, old_content, new_content } = result
      if (command === 'view') return { observation: 'read', content, extras: { path, impl_source: 'oh_aci' } }
      return {
        observation: 'edit',
        content,
        extras: { path, prev_exist, old_content, new_content, impl_source: 'oh_aci' },
      }
    }
    case 'ThinkObservation':
      return { observation: 'think', content, extras: {} }
    case 'FinishObservation':
      return null
    case 'TaskTrackerObservation': {
      const task_list = result.task_list.map((task, index) => ({ id: String(index + 1), ...task }))
      return { observation: 'task_tracking', content, extras: { command: result.command, task_list } }
    }
    default:
      return { observation: 'mcp', content, extras: { name: event.tool_name, arguments: {} } }
  }
}

/** Arguments of a call as an object; other arguments are put under one name. */
function parsed(text: string): Record<string, unknown> {
  return parseRecord(text) ?? { unparseable_arguments: text }
}

const textOf = (content: readonly { type: string; text?: string }[]): string =>
  content.map(({ type, text }) => (type === 'text' ? (text ?? '') : '')).join('')
