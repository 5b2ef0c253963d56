/**
 * Writes a branch in the format that the classifier was trained on: turns between `<|im_start|>` and `<|im_end|>`, calls and
 * results as JSON between tags. Pure. Source: agent-core.md 3.3.
 */
import { textOf, type TreeEvent } from '@parley/protocol'
import type { LlmImage, LlmText, LlmTool } from '../../llm/index.ts'
import { messageOf } from '../view/messages.ts'
import type { CriticSubject } from './critic.ts'

type Turn = { role: 'system' | 'user' | 'assistant'; text: string }

/**
 * Returns the transcript of the history, with the subject at its end.
 * @throws Error when the branch does not begin with a system prompt, because the tools would be missing.
 */
export function transcript(
  history: readonly TreeEvent[],
  subject: CriticSubject,
  tools: readonly LlmTool[] | null,
): string {
  const turns: Turn[] = []
  for (const event of history) {
    const message = messageOf(event)
    if (message === null) continue
    switch (message.role) {
      case 'system':
        turns.push({ role: 'system', text: shownText(message.content) + (tools === null ? '' : toolList(tools)) })
        break
      case 'user':
        turns.push({ role: 'user', text: shownText(message.content) })
        break
      case 'assistant':
        turns.push({ role: 'assistant', text: withCalls(shownText(message.content), message.toolCalls) })
        break
      case 'tool':
        turns.push({ role: 'user', text: `<tool_response>\n${shownText(message.content)}\n</tool_response>` })
    }
  }
  if (turns[0]?.role !== 'system') throw new Error('the branch has no system prompt, which the critic needs')
  turns.push({ role: 'assistant', text: subjectText(subject) })
  return joined(turns)
    .map(({ role, text }) => `<|im_start|>${role}\n${text}<|im_end|>\n`)
    .join('')
}

function subjectText(subject: CriticSubject): string {
  return subject.kind === 'message'
    ? inert(subject.text)
    : withCalls(inert(subject.thought), [{ name: subject.name, arguments: subject.arguments }])
}

function withCalls(text: string, calls: readonly { name: string; arguments: string }[]): string {
  const written = calls.map(
    (call) =>
      `<tool_call>\n{"name": ${JSON.stringify(call.name)}, "arguments": ${inert(call.arguments)}}\n</tool_call>`,
  )
  return [text, ...written].filter((part) => part !== '').join('\n')
}

function toolList(tools: readonly LlmTool[]): string {
  if (tools.length === 0) return ''
  const listed = tools.map(({ name, description, parameters }) =>
    JSON.stringify({ type: 'function', function: { name, description, parameters } }),
  )
  return `\n\n# Tools\n\n<tools>\n${listed.join('\n')}\n</tools>`
}

/** Merges consecutive turns of one role: the results of a batch, the calls of one answer. */
function joined(turns: readonly Turn[]): Turn[] {
  const out: Turn[] = []
  for (const turn of turns) {
    const last = out.at(-1)
    if (last?.role === turn.role) out[out.length - 1] = { role: last.role, text: `${last.text}\n${turn.text}` }
    else out.push(turn)
  }
  return out
}

const shownText = (content: readonly (LlmText | LlmImage)[]): string => inert(textOf(content, { other: '[image]' }))

/** Escapes text so that it neither ends a turn nor begins one. */
const inert = (text: string): string => text.replaceAll('<|', '< |')
