/** Renders results of calls and content parts for the model. Pure. */
import { textOf, type ContentPart, type Observation, type TerminalObservation } from '@parley/protocol'
import type { LlmImage, LlmText } from '../../llm/index.ts'
import type { CallResult } from './pairing.ts'
import { truncateMiddle } from '../truncate.ts'

/** Limit of one result, in characters. Source: agent-core.md 1.15. */
const MAX_RESULT_CHARS = 50_000
const ERROR_LINE = '[An error occurred during execution.]'

export type Rendered = { content: (LlmText | LlmImage)[]; isError: boolean }

/** The content of a tool message. */
export function renderResult(event: CallResult): Rendered {
  switch (event.kind) {
    case 'ObservationEvent': {
      const { observation, extended_content } = event
      const content = [...renderObservation(observation), ...extended_content.map(({ text }) => part(text))]
      return { content: content.length === 0 ? [part('[No output.]')] : content, isError: observation.is_error }
    }
    case 'UserRejectObservation':
      return { content: [part(`Action rejected: ${event.rejection_reason}`)], isError: true }
    case 'AgentErrorEvent':
      return { content: [part(event.error)], isError: true }
  }
}

/** Converts content parts; blank texts are left out, because several providers refuse them. */
export function renderContent(content: readonly ContentPart[]): (LlmText | LlmImage)[] {
  return content.flatMap((item): (LlmText | LlmImage)[] => {
    if (item.type === 'image') return item.image_urls.map((url) => ({ type: 'image', url }))
    return item.text.trim() === '' ? [] : [{ type: 'text', text: item.text }]
  })
}

function renderObservation(observation: Observation): (LlmText | LlmImage)[] {
  const parts = renderContent(
    observation.kind === 'TerminalObservation' ? withMetadata(observation) : observation.content,
  )
  const bounded = parts.map((item) => (item.type === 'text' ? part(item.text) : item))
  return observation.is_error ? [part(ERROR_LINE), ...bounded] : bounded
}

/** Adds the working directory and the exit code after the output of a command. Source: agent-core.md 8.2. */
function withMetadata({ content, metadata }: TerminalObservation): ContentPart[] {
  const { prefix, suffix, working_dir, py_interpreter_path, exit_code } = metadata
  const lines = [
    // The output is cut before the lines after it are added, so that those remain.
    truncateMiddle(prefix + textOf(content) + suffix, MAX_RESULT_CHARS - 2000),
    working_dir === null || working_dir === '' ? '' : `[Current working directory: ${working_dir}]`,
    py_interpreter_path === null || py_interpreter_path === '' ? '' : `[Python interpreter: ${py_interpreter_path}]`,
    exit_code === -1 ? '' : `[Command finished with exit code ${exit_code}]`,
  ]
  const text = lines.filter((line) => line !== '').join('\n')
  return [{ type: 'text', text, cache_prompt: false }, ...content.filter((item) => item.type === 'image')]
}

const part = (text: string): LlmText => ({ type: 'text', text: truncateMiddle(text, MAX_RESULT_CHARS) })
