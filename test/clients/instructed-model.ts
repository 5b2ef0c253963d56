/** A model that does what it is told: the user's message holds the answers it is to give, one after the other. */
import {
  startScriptedModel,
  type ScriptedAnswer,
  type ScriptedModel,
} from '../../packages/server/testing/scripted-model.ts'

/** The text of a user message that makes the model answer like this. */
export const instruct = (...answers: readonly ScriptedAnswer[]): string => JSON.stringify(answers)

/** An answer that runs a command. */
export const command = (line: string, more: Record<string, unknown> = {}): ScriptedAnswer => ({
  toolCalls: [{ name: 'terminal', arguments: { command: line, ...more } }],
})

/** Starts it. A message that holds no answers, or has none left, is answered with one word. */
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
  // Two messages in a row reach a model as one.
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
    // Quoted and cut short, as in a history that is to be summarised.
    return undefined
  }
}
