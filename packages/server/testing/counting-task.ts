/** A task of similar steps that count, for a model with a small window. The model derives its progress from each request alone. */
import { asksForSummary, type ModelRequest, type ScriptedAnswer } from './scripted-model.ts'

export type CountingTask = {
  steps: number
  /** Characters of a request above which the model refuses; null: none. */
  maxChars: number | null
}

/** Characters for each token that the model counts. */
export const CHARS_PER_TOKEN = 4

/** Content of the file that the steps write into the working directory. */
export const traceOf = (steps: number): string => Array.from({ length: steps }, (_, n) => `${n + 1}\n`).join('')

/** Answers from the request alone, so that retries and restarts change nothing. */
export function answerToCounting({ steps, maxChars }: CountingTask): (request: ModelRequest) => ScriptedAnswer {
  return ({ text, view }) => {
    if (maxChars !== null && text.length > maxChars) {
      const message = `This model's maximum context length is ${maxChars / CHARS_PER_TOKEN} tokens. Please reduce the length of the messages.`
      return {
        status: 400,
        error: { error: { message, type: 'invalid_request_error', code: 'context_length_exceeded' } },
      }
    }
    const usage = { input: Math.ceil(text.length / CHARS_PER_TOKEN), output: 20 }
    const done = Math.max(0, ...[...text.matchAll(/step-(\d+) is done/g)].map(([, n]) => Number(n)))
    if (asksForSummary(view)) return { text: `# Done\nEverything up to step-${done} is done.`, usage }
    if (done >= steps) return { toolCalls: [{ name: 'finish', arguments: { message: `did ${done} steps` } }], usage }
    const n = done + 1
    // The shell computes the number, so that the call does not contain the text of its result.
    const command = `echo ${n} >> trace; seq -s' ' 1 80; echo "step-$((${n})) is done"`
    return { text: `Now step ${n}.`, toolCalls: [{ name: 'terminal', arguments: { command } }], usage }
  }
}
