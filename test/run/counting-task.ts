/** A task of like steps that count, for a model with a small window: what it knows of its progress is what its requests hold. */
import type { ModelRequest, ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'

export type CountingTask = {
  steps: number
  /** Characters of a request above which the model refuses; null: none. */
  maxChars: number | null
}

/** Characters for each token that the model counts. */
export const CHARS_PER_TOKEN = 4

/** What the steps leave in the working directory. */
export const traceOf = (steps: number): string => Array.from({ length: steps }, (_, n) => `${n + 1}\n`).join('')

/** Answers from the request alone, so that neither a retry nor a restart confuses it. */
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
    // Only the request for a summary comes without tools.
    if (view.tools.length === 0) return { text: `# Done\nEverything up to step-${done} is done.`, usage }
    if (done >= steps) return { toolCalls: [{ name: 'finish', arguments: { message: `did ${done} steps` } }], usage }
    const n = done + 1
    // The shell computes the number, so that the call itself does not look like its result.
    const command = `echo ${n} >> trace; seq -s' ' 1 80; echo "step-$((${n})) is done"`
    return { text: `Now step ${n}.`, toolCalls: [{ name: 'terminal', arguments: { command } }], usage }
  }
}
