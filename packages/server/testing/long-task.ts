/**
 * A task of many different steps, for a model with a small window: single calls, parallel ones, malformed ones and edits. The model
 * derives its progress from each request alone.
 */
import { asksForSummary, type ModelRequest, type ScriptedAnswer } from './scripted-model.ts'

export type LongTask = {
  steps: number
  /** Size of the model's window in tokens; null: unlimited. */
  windowTokens: number | null
  /** The working directory. */
  work: string
}

/** Characters for each token that the model counts. */
const CHARS_PER_TOKEN = 4
/** Numbers that each command prints, so that the view becomes long. */
const NUMBERS = 500

type Call = { name: string; arguments: Record<string, unknown> | string }

const shell = (command: string): Call => ({ name: 'terminal', arguments: { command } })

/** The command at the end of every step. Only its output contains the finished step; the shell computes the number. */
const conclude = (n: number) => `seq -s' ' 1 ${NUMBERS}; echo "step-$((${n})) is done"`

function callsOf(n: number, work: string): Call[] {
  const trace = shell(`echo ${n} >> trace; ${conclude(n)}`)
  // Parallel calls are executed and answered in the order of the calls.
  if (n % 10 === 0) return [shell(`mkdir -p d${n % 7}; echo ${n} > d${n % 7}/at-${n}`), trace]
  if (n % 25 === 3) return [{ name: 'terminal', arguments: '{"command": "echo' }, trace]
  if (n % 8 === 1) {
    const path = `${work}/notes-${n}.txt`
    return [{ name: 'file_editor', arguments: { command: 'create', path, file_text: `note ${n}\n` } }, trace]
  }
  return [trace]
}

/** Answers from the request alone, so that retries and restarts change nothing. */
export function answerToLong({ steps, windowTokens, work }: LongTask): (request: ModelRequest) => ScriptedAnswer {
  return ({ format, text, view }) => {
    if (windowTokens !== null && text.length > windowTokens * CHARS_PER_TOKEN) {
      const words = `prompt is too long: ${Math.ceil(text.length / CHARS_PER_TOKEN)} tokens > ${windowTokens} maximum`
      return { status: 400, error: words }
    }
    const usage = { input: Math.ceil(text.length / CHARS_PER_TOKEN), output: 20 }
    const done = Math.max(0, ...[...text.matchAll(/step-(\d+) is done/g)].map(([, n]) => Number(n)))
    if (asksForSummary(view)) return { text: `# Done\nEverything up to step-${done} is done.`, usage }
    if (done >= steps) return { toolCalls: [{ name: 'finish', arguments: { message: `did ${done} steps` } }], usage }
    const n = done + 1
    const thinking = format === 'anthropic' && n % 5 === 0 ? [{ thinking: `About step ${n}.`, signature: `s${n}` }] : []
    return { text: `Now step ${n}.`, thinking, toolCalls: callsOf(n, work), usage }
  }
}
