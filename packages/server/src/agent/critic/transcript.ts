/**
 * A branch as the text that a classifier was trained on: turns between `<|im_start|>` and `<|im_end|>`, calls and results as
 * JSON between tags. Pure. Source: agent-core.md 3.3 (APIBasedCritic).
 */
import type { TreeEvent } from '@parley/protocol'
import type { LlmImage, LlmText, LlmTool } from '../../llm/index.ts'
import { messageOf } from '../native/messages.ts'
import type { Judgeable } from './critic.ts'

type Turn = { role: 'system' | 'user' | 'assistant'; text: string }

/**
 * The transcript with what is judged at its end.
 * @throws Error when the branch does not begin with a system prompt: the tools would be missing from it.
 */
export function transcript(history: readonly TreeEvent[], judged: Judgeable, tools: readonly LlmTool[] | null): string {
  const turns: Turn[] = []
  for (const event of history) {
    const message = messageOf(event)
    if (message === null) continue
    switch (message.role) {
      case 'system':
        turns.push({ role: 'system', text: textOf(message.content) + (tools === null ? '' : catalogue(tools)) })
        break
      case 'user':
        turns.push({ role: 'user', text: textOf(message.content) })
        break
      case 'assistant':
        turns.push({ role: 'assistant', text: said(textOf(message.content), message.toolCalls) })
        break
      case 'tool':
        turns.push({ role: 'user', text: `<tool_response>\n${textOf(message.content)}\n</tool_response>` })
    }
  }
  if (turns[0]?.role !== 'system') throw new Error('the branch has no system prompt, which the critic needs')
  turns.push({ role: 'assistant', text: lastWords(judged) })
  return joined(turns)
    .map(({ role, text }) => `<|im_start|>${role}\n${text}<|im_end|>\n`)
    .join('')
}

function lastWords(judged: Judgeable): string {
  return judged.kind === 'message'
    ? inert(judged.text)
    : said(inert(judged.thought), [{ name: judged.name, arguments: judged.arguments }])
}

function said(text: string, calls: readonly { name: string; arguments: string }[]): string {
  const asked = calls.map(
    (call) =>
      `<tool_call>\n{"name": ${JSON.stringify(call.name)}, "arguments": ${inert(call.arguments)}}\n</tool_call>`,
  )
  return [text, ...asked].filter((part) => part !== '').join('\n')
}

function catalogue(tools: readonly LlmTool[]): string {
  if (tools.length === 0) return ''
  const listed = tools.map((tool) => JSON.stringify({ type: 'function', function: tool }))
  return `\n\n# Tools\n\n<tools>\n${listed.join('\n')}\n</tools>`
}

/** Turns of one role that follow each other are one: the results of a batch, the calls of one answer. */
function joined(turns: readonly Turn[]): Turn[] {
  const out: Turn[] = []
  for (const turn of turns) {
    const last = out.at(-1)
    if (last?.role === turn.role) out[out.length - 1] = { role: last.role, text: `${last.text}\n${turn.text}` }
    else out.push(turn)
  }
  return out
}

const textOf = (content: readonly (LlmText | LlmImage)[]): string =>
  inert(content.map((part) => (part.type === 'text' ? part.text : '[image]')).join('\n'))

/** Text that ends no turn and begins none. */
const inert = (text: string): string => text.replaceAll('<|', '< |')
