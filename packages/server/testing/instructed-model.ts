/** A scripted model whose answers are in the user's message. */
import { startScriptedModel, type ScriptedAnswer, type ScriptedModel } from './scripted-model.ts'

/** The text of a user message with these answers. */
export const instruct = (...answers: readonly ScriptedAnswer[]): string => JSON.stringify(answers)

/** An answer that runs a command. */
export const command = (line: string, more: Record<string, unknown> = {}): ScriptedAnswer => ({
  toolCalls: [{ name: 'terminal', arguments: { command: line, ...more } }],
})

/** Starts the model. A message without remaining answers is answered with one word. */
export function startInstructedModel(): Promise<ScriptedModel> {
  return startScriptedModel({
    respond: ({ body }) => {
      const messages = body['messages'] as { role: string; content: unknown }[]
      const at = messages.findLastIndex(({ role, content }) => role === 'user' && answersIn(content) !== undefined)
      const given = messages.slice(at).filter(({ role }) => role === 'assistant').length
      return answersIn(messages[at]?.content)?.[given] ?? { text: 'Hello.' }
    },
  })
}

function answersIn(content: unknown): readonly ScriptedAnswer[] | undefined {
  const parts = typeof content === 'string' ? [{ text: content }] : ((content ?? []) as { text?: string }[])
  // Consecutive messages reach a model as one.
  return parts
    .flatMap(({ text = '' }) => text.split('\n'))
    .map(answersOf)
    .findLast((answers) => answers !== undefined)
}

function answersOf(line: string): readonly ScriptedAnswer[] | undefined {
  if (!line.startsWith('[{')) return undefined
  try {
    return JSON.parse(line) as ScriptedAnswer[]
  } catch {
    // Quoted and shortened, as in a history for the condenser.
    return undefined
  }
}
